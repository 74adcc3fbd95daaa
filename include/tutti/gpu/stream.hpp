// A queue of work on a device. What is enqueued is done in order; different streams run side by side.
#pragma once

#include <tutti/gpu/device.hpp>
#include <tutti/gpu/event.hpp>

#include <memory>

struct CUstream_st;  // cuda.h: CUstream, which is cudaStream_t, too

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class stream_state;

enum class stream_priority : std::uint8_t { low, normal, high };

/// A handle that copies share. Three ways to know that work is done, for three purposes:
///
///     (nothing)                        it is *enqueued* when the call returns
///     other.wait(s.record().value())   it is *ordered*: what is enqueued on `other` from now on comes after it; no thread waits
///     co_await s.completed()           it is *completed*: the host goes on after it
class stream {
public:
    /// One of its own, which does not synchronize with the null stream.
    static result<stream> make(const device& where, stream_priority priority = stream_priority::normal);
    /// One of the caller's, which outlives this handle. Null is the null stream, which is a stream like any other here. One handle for each,
    /// copied where more are needed: two handles of one stream are taken for two streams. CU_STREAM_PER_THREAD is another stream on each
    /// thread: recording there, waiting and copying are error::unsupported.
    static stream borrow(const device& where, CUstream_st* handle);

    CUstream_st* handle() const noexcept;
    device on() const;

    /// The place behind all that has been enqueued. error::unsupported while the stream is being captured.
    result<event> record() const;
    /// What is enqueued from now on comes after `what`, which may be of another stream and another device.
    result<> wait(const event& what) const;
    /// The end of all that has been enqueued, as a future: record().completed(what).
    future<> completed(keep_alive what = {}) const;
    /// Blocks this thread until all that has been enqueued is done; error::invalid_argument on the thread of an event loop.
    result<> synchronize() const;

    explicit stream(std::shared_ptr<stream_state> state) noexcept : state_(std::move(state)) {}
    const std::shared_ptr<stream_state>& inner() const noexcept { return state_; }

private:
    std::shared_ptr<stream_state> state_;
};

}  // namespace gpu
}  // namespace tutti
