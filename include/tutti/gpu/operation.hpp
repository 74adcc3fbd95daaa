// A collective of devices that is under way, and the three ways in which it can be over.
#pragma once

#include <tutti/future.hpp>
#include <tutti/gpu/stream.hpp>

#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class operation_state;

/// What a call of gpu::communicator gives. The operation has its place in the order when you get this; it is then
///
///     co_await sum.enqueued();         *enqueued*: it is on the communication stream
///     co_await sum.wait_on(compute);   *ordered*: what is put on `compute` from now on comes after it; no thread waits for the device
///     co_await std::move(sum);         *completed*: the device has done it; its buffers may be read, and freed
///
/// All three throw the failure that the operation ended with instead. Dropping or cancelling any of them gives up waiting, and nothing
/// else: the operation goes on, and holds what keeps its buffers alive until the device has done with them.
class [[nodiscard]] operation {
public:
    operation() noexcept = default;
    operation(operation&& other) noexcept : completed_(std::move(other.completed_)), state_(std::exchange(other.state_, nullptr)) {}
    operation& operator=(operation&& other) noexcept {
        std::swap(completed_, other.completed_);
        std::swap(state_, other.state_);
        return *this;
    }
    ~operation();

    bool valid() const noexcept { return state_ != nullptr; }
    /// Whether it is completed, or has failed.
    bool ready() const noexcept { return completed_.ready(); }

    /// May be asked for at any time, and more than once.
    future<> enqueued() const;
    future<> wait_on(const stream& which) const;
    /// Once. Of the plain form: `co_await std::move(sum)`.
    future<> completed() && { return std::move(completed_); }
    auto operator co_await() && { return std::move(completed_).operator co_await(); }

    /// For the library: takes over two references, one of them the future's.
    explicit operation(operation_state& state) noexcept;

private:
    future<> completed_;
    operation_state* state_ = nullptr;
};

}  // namespace gpu
}  // namespace tutti
