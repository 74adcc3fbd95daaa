// What a thread of the driver rings: it wakes a loop, and may come when the loop is gone.
#pragma once

#include <tutti/event_loop.hpp>

#include <mutex>

namespace tutti::gpu {

/// Shared by the one who listens and by every host function that may still ring.
class bell {
public:
    bell(event_loop& loop, detail::runnable& heard) noexcept : loop_(&loop), heard_(heard) {}

    /// From any thread, once for each host function. No call to the driver comes of it here.
    void ring() noexcept {
        const std::lock_guard lock(guard_);
        if (!loop_ || posted_) return;
        posted_ = true;
        loop_->post(heard_);
    }
    /// On the loop, when it was heard: the next ring is another one.
    void heard() noexcept {
        const std::lock_guard lock(guard_);
        posted_ = false;
    }
    /// On the loop: nothing is heard any more.
    void leave() noexcept {
        const std::lock_guard lock(guard_);
        if (loop_) loop_->withdraw(heard_);
        loop_ = nullptr;
    }

private:
    std::mutex guard_;
    event_loop* loop_;
    detail::runnable& heard_;
    bool posted_ = false;
};

}  // namespace tutti::gpu
