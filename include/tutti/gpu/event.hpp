// A place in a stream: when the device has come there, all that was enqueued before has been done.
#pragma once

#include <tutti/future.hpp>
#include <tutti/result.hpp>

#include <memory>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

class event_state;

/// Whatever must stay as it is until the device has done with it.
using keep_alive = std::shared_ptr<const void>;

/// What stream::record gives; copies are the same event. Its part of the driver comes out of a pool and returns there.
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

    /// `co_await done;` goes on when the device has come there; throws error::device_failed when it never will.
    auto operator co_await() const { return detail::future_awaiter<void>(completed().take_state()); }
    /// The same as a future, on the loop that this thread runs, or on the device's. `what` is kept until the device has come there, also when
    /// the future was cancelled or dropped long before.
    future<> completed(keep_alive what = {}) const;

    /// Asks the driver, once.
    result<bool> ready() const;
    /// Blocks this thread until then; error::invalid_argument on the thread of an event loop.
    result<> synchronize() const;

    void explain(detail::explanation& out) const;

    explicit event(event_state* state) noexcept : state_(state) {}
    event_state* inner() const noexcept { return state_; }

private:
    event_state* state_ = nullptr;
};

}  // namespace gpu
}  // namespace tutti
