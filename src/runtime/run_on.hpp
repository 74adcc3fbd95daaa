// Runs work on another loop while the caller waits.
#pragma once

#include <tutti/event_loop.hpp>

#include <condition_variable>
#include <mutex>

namespace tutti {

/// Runs `work` on `loop` and returns when it has run: at once on the loop itself, otherwise after the turn that the loop's own thread is at.
/// That thread must not wait for this one, nor for a lock that is held here.
template <class Work>
void run_on(event_loop& loop, Work work) {
    class errand final : public detail::runnable {
    public:
        explicit errand(Work& what) noexcept : what_(what) {}
        void wait() {
            std::unique_lock lock(guard_);
            changed_.wait(lock, [this] { return done_; });
        }

    private:
        void run() noexcept override {
            what_();
            const std::lock_guard lock(guard_);  // also while it notifies: the waiter destroys this
            done_ = true;
            changed_.notify_one();
        }

        Work& what_;
        std::mutex guard_;
        std::condition_variable changed_;
        bool done_ = false;
    };
    if (loop.here()) {
        work();
        return;
    }
    errand one(work);
    loop.post(one);
    one.wait();
}

}  // namespace tutti
