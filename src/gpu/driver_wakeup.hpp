// How a host function, on a thread of the driver, wakes a poller's loop. It may be called after the loop is gone.
#pragma once

#include "gpu/stuck.hpp"

#include <tutti/event_loop.hpp>

#include <cstddef>
#include <memory>
#include <mutex>

namespace tutti::gpu {

/// Must be made shared, by its poller. After the poller has left, `stuck` keeps it until the last expected call, which may never come. It only posts to
/// the loop and never calls the driver, since a host function must not.
class driver_wakeup final : public std::enable_shared_from_this<driver_wakeup> {
public:
    driver_wakeup(event_loop& loop, detail::runnable& heard) noexcept : loop_(&loop), heard_(heard) {}

    /// Counts a host function that is about to be enqueued and will call `wake`.
    void expect() noexcept {
        const std::lock_guard lock(guard_);
        ++expected_;
    }
    /// Takes back `expect`, because the host function could not be enqueued.
    void expect_less() noexcept {
        const std::lock_guard lock(guard_);
        --expected_;
    }
    /// Called by the host function, on any thread. Posts the poller's callback once until it has run.
    void wake() noexcept {
        bool last = false;
        {
            const std::lock_guard lock(guard_);
            last = --expected_ == 0 && !loop_;
            if (loop_ && !posted_) {
                posted_ = true;
                loop_->post(heard_);
            }
        }
        if (last) stuck::let_go(this);
    }
    /// Called on the loop when the callback runs: the next call of `wake` posts it again.
    void heard() noexcept {
        const std::lock_guard lock(guard_);
        posted_ = false;
    }
    /// Called on the loop by a poller that ends: later calls of `wake` post nothing.
    void leave() noexcept {
        const std::lock_guard lock(guard_);
        loop_->withdraw(heard_);
        loop_ = nullptr;
        if (expected_ > 0) stuck::keep(shared_from_this());
    }

private:
    std::mutex guard_;
    event_loop* loop_;  // null when the poller has left
    detail::runnable& heard_;
    std::size_t expected_ = 0;
    bool posted_ = false;
};

}  // namespace tutti::gpu
