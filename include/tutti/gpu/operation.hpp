// A device collective under way, and three ways to wait for it.
#pragma once

#include <tutti/future.hpp>
#include <tutti/gpu/stream.hpp>

#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class operation_state;

/// The result of a call of gpu::communicator. The operation has its place in the order before the call returns. Three waits:
///
///     co_await sum.enqueued();         *enqueued*: it is on the communication stream
///     co_await sum.wait_on(compute);   *ordered*: later work on `compute` comes after it; no thread waits for the device
///     co_await std::move(sum);         *completed*: the device has done it; its buffers may be read, and freed
///
/// Each throws the failure that the operation ended with. Dropping or cancelling a wait ends only the wait. The operation continues, and
/// holds its buffers' keep-alives until the device has finished with them.
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
    /// Returns whether it is completed or has failed.
    bool ready() const noexcept { return completed_.ready(); }

    /// At any time, any number of times.
    future<> enqueued() const;
    future<> wait_on(const stream& which) const;
    /// Once. The plain form is `co_await std::move(sum)`.
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
