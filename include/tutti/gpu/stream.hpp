// A queue of work on a device. Enqueued work runs in order; different streams run concurrently.
#pragma once

#include <tutti/gpu/device.hpp>
#include <tutti/gpu/event.hpp>

#include <memory>

struct CUstream_st;  // cuda.h: CUstream, also cudaStream_t

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class stream_state;

enum class stream_priority : std::uint8_t { low, normal, high };

/// A handle that copies share. There are three ways to wait for work:
///
///     (nothing)                        it is *enqueued* when the call returns
///     other.wait(s.record().value())   it is *ordered*: later work on `other` comes after it; no thread waits
///     co_await s.completed()           it is *completed*: the host continues after it
class stream {
public:
    /// Makes a new stream, which does not synchronize with the null stream.
    static result<stream> make(const device& where, stream_priority priority = stream_priority::normal);
    /// Wraps a stream of the caller's, which outlives this handle. Null is the null stream, which is treated like any other. Make one
    /// handle for each stream and copy it: two handles of one stream count as two streams. CU_STREAM_PER_THREAD is another stream on each
    /// thread; there recording, waiting and copying are error::unsupported.
    static stream borrow(const device& where, CUstream_st* handle);

    CUstream_st* handle() const noexcept;
    device on() const;

    /// Returns an event after all work enqueued so far. error::unsupported while the stream is being captured.
    result<event> record() const;
    /// Orders later work on this stream after `what`, which may be of another stream and another device.
    result<> wait(const event& what) const;
    /// Returns a future that ends when all work enqueued so far is done: record().completed(what).
    future<> completed(keep_alive what = {}) const;
    /// Blocks this thread until all work enqueued so far is done; error::invalid_argument on an event loop's thread.
    result<> synchronize() const;

    explicit stream(std::shared_ptr<stream_state> state) noexcept : state_(std::move(state)) {}
    const std::shared_ptr<stream_state>& inner() const noexcept { return state_; }

private:
    std::shared_ptr<stream_state> state_;
};

}  // namespace gpu
}  // namespace tutti
