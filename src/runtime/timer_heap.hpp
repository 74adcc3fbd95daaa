// The started timers, soonest first, as a binary heap whose members know their place.
#pragma once

#include <tutti/detail/timer.hpp>

#include "base/process.hpp"

#include <vector>

namespace tutti::detail {

class [[gnu::visibility("hidden")]] timer_heap {
public:
    timer_heap() = default;
    timer_heap(const timer_heap&) = delete;
    timer_heap& operator=(const timer_heap&) = delete;
    ~timer_heap();

    bool empty() const noexcept { return timers_.empty(); }
    /// Returns the time of the soonest timer, or no_deadline.
    time_point next() const noexcept { return empty() ? no_deadline : timers_.front()->when_; }

    /// Returns whether this process has started the timer.
    static bool started_here(const timer_node& work) noexcept { return work.started() && work.started_in_ == this_process(); }
    void push(timer& work, time_point when);
    void remove(timer_node& work) noexcept;

    /// Returns how many timers were ever started: pop() leaves later ones alone.
    std::uint64_t started() const noexcept { return started_; }
    /// Takes the soonest timer if it is due at `now` and was started before the `before`-th, else returns null. So a timer that is started
    /// anew while timers fire waits for the next turn.
    timer* pop(time_point now, std::uint64_t before) noexcept;

private:
    static bool sooner(const timer_node& a, const timer_node& b) noexcept {
        return a.when_ != b.when_ ? a.when_ < b.when_ : a.order_ < b.order_;
    }
    void put(std::size_t position, timer_node& work) noexcept;
    void rise(std::size_t position, timer_node& work) noexcept;
    void sink(std::size_t position, timer_node& work) noexcept;

    std::vector<timer_node*> timers_;
    std::uint64_t started_ = 0;
};

}  // namespace tutti::detail
