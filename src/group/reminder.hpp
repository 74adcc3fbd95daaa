// Reports that something takes long, while it lasts: a join, or a close.
#pragma once

#include <tutti/detail/timer.hpp>
#include <tutti/event_loop.hpp>

#include <chrono>
#include <functional>
#include <utility>

namespace tutti {

/// Calls `tell` with the seconds that have passed: when the reminder has lived for `first`, after twice as long, and so on. A `first` of 0
/// means never. Used on the loop.
class reminder {
public:
    reminder(event_loop& loop, duration first, std::function<void(double seconds)> tell)
        : loop_(loop),
          begin_(loop.now()),
          next_(first),
          tell_(std::move(tell)) {
        start();
    }
    reminder(const reminder&) = delete;
    reminder& operator=(const reminder&) = delete;
    ~reminder() { loop_.stop_timer(due_); }

private:
    void start() {
        if (next_ != duration{}) loop_.start_timer(due_, later(begin_, next_));
    }
    void ring() noexcept {
        next_ = twice(next_);
        start();
        tell_(std::chrono::duration<double>(loop_.now() - begin_).count());
    }

    event_loop& loop_;
    const time_point begin_;
    duration next_;
    const std::function<void(double)> tell_;
    detail::alarm<&reminder::ring> due_{*this};
};

}  // namespace tutti
