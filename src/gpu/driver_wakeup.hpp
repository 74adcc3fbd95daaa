// What a thread of the driver rings: it wakes a loop, and may come when the loop is gone.
#pragma once

#include "gpu/stuck.hpp"

#include <tutti/event_loop.hpp>

#include <cstddef>
#include <memory>
#include <mutex>

namespace tutti::gpu {

/// Made shared, by the one who listens. Once that one has left it lives until the last ring that is expected, which may never come.
class driver_wakeup final : public std::enable_shared_from_this<driver_wakeup> {
public:
    driver_wakeup(event_loop& loop, detail::runnable& heard) noexcept : loop_(&loop), heard_(heard) {}

    /// A host function is going to ring.
    void expect() noexcept {
        const std::lock_guard lock(guard_);
        ++expected_;
    }
    /// It could not be had.
    void expect_less() noexcept {
        const std::lock_guard lock(guard_);
        --expected_;
    }
    /// From any thread. No call to the driver comes of it here.
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
    /// On the loop, when it was heard: the next ring is another one.
    void heard() noexcept {
        const std::lock_guard lock(guard_);
        posted_ = false;
    }
    /// On the loop: nothing is heard any more.
    void leave() noexcept {
        const std::lock_guard lock(guard_);
        loop_->withdraw(heard_);
        loop_ = nullptr;
        if (expected_ > 0) stuck::keep(shared_from_this());
    }

private:
    std::mutex guard_;
    event_loop* loop_;  // null when the one who listened has left
    detail::runnable& heard_;
    std::size_t expected_ = 0;
    bool posted_ = false;
};

}  // namespace tutti::gpu
