// An event's coming as a future.
#pragma once

#include "gpu/watched.hpp"

#include <tutti/detail/promise.hpp>
#include <tutti/future.hpp>

#include <atomic>

namespace tutti::gpu {

/// The future may end early, by being cancelled or dropped; this and what it keeps stay until the device has come to the event.
class arrival final : public detail::future_state, watched {
public:
    static void* operator new(std::size_t bytes) { return detail::allocate_frame(bytes); }
    static void operator delete(void* place, std::size_t bytes) noexcept { detail::recycle_frame(place, bytes); }

    /// Polled for on the loop that this thread runs, or, without one and where the device says so, on the device's. `kind` as in watched.
    static future<> of(event what, keep_alive kept, std::uint32_t kind = 0);
    /// Polled for on that loop, or, where the device says so, on the device's.
    static future<> of(event what, event_loop& on);
    /// One that has ended already.
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

/// Of calls that block: a failure on the thread of an event loop.
std::optional<failure> refuse_to_block();

}  // namespace tutti::gpu
