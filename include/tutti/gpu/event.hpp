// A point in a stream: when the device has reached it, all work enqueued before is done.
#pragma once

#include <tutti/future.hpp>
#include <tutti/result.hpp>

#include <memory>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class event_state;

/// Keeps something alive until the device has finished with it.
using keep_alive = std::shared_ptr<const void>;

/// The result of stream::record; copies are the same event. The driver's event comes from a pool and returns there.
class event {
public:
    event() noexcept = default;
    event(const event& other) noexcept;
    event(event&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    event& operator=(event other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~event();

    bool valid() const noexcept { return state_ != nullptr; }

    /// Waits until the device has reached the event: `co_await done;`. Throws error::device_failed if it never will.
    auto operator co_await() const { return detail::future_awaiter<void>(completed().take_state()); }
    /// Returns that wait as a future, on the loop that this thread runs, or on the device's. `what` is kept until the device has reached
    /// the event, even if the future is cancelled or dropped long before.
    future<> completed(keep_alive what = {}) const;

    /// Asks the driver once.
    result<bool> ready() const;
    /// Blocks this thread until then; error::invalid_argument on an event loop's thread.
    result<> synchronize() const;

    /// For the library.
    void explain(detail::explanation& out) const;

    explicit event(event_state* state) noexcept : state_(state) {}
    event_state* inner() const noexcept { return state_; }

private:
    event_state* state_ = nullptr;
};

}  // namespace gpu
}  // namespace tutti
