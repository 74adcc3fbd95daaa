// A future that ends when the device reaches an event.
#pragma once

#include "gpu/watched.hpp"

#include <tutti/detail/promise.hpp>
#include <tutti/future.hpp>

#include <atomic>

namespace tutti::gpu {

/// The future's state and the poller's `watched` in one. `event`, `stream` and copies make it on any thread. The future may end early, when it is
/// cancelled or dropped; the arrival and its keep-alives stay until the device has reached the event.
class arrival final : public detail::future_state, watched {
public:
    static void* operator new(std::size_t bytes) { return detail::allocate_frame(bytes); }
    static void operator delete(void* place, std::size_t bytes) noexcept { detail::recycle_frame(place, bytes); }

    /// Makes a future that the loop of this thread polls for. Without a loop, and with poll_mode::thread, the device's polling thread does. `kind` as in
    /// `watched`.
    static future<> of(event what, keep_alive kept, std::uint32_t kind = 0);
    /// Makes a future that `on` polls for, or, with poll_mode::thread, the device's polling thread.
    static future<> of(event what, event_loop& on);
    /// Makes a future that has failed already.
    static future<> failed(failure why);

    void cancel() noexcept override;
    void abandon() noexcept override { cancel(); }
    void explain(detail::explanation& out) const override { out.line("an event of a device"); }

private:
    arrival(event what, keep_alive kept, std::uint32_t kind) noexcept : watched(std::move(what), kind), kept_(std::move(kept)) {}

    void join() noexcept;
    void came(const failure* why) noexcept override;
    void forsaken() noexcept override;
    void end(const failure* why) noexcept;
    void recycle() noexcept override { delete this; }

    keep_alive kept_;
    event_loop* loop_ = nullptr;
    std::atomic<bool> ended_{false};
    detail::callback<&arrival::join> join_{*this};
};

/// Returns the failure of a call that blocks, if this thread runs an event loop.
std::optional<failure> refuse_to_block();

}  // namespace tutti::gpu
