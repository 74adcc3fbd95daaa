// One task waits for one event, with a deadline. The code that makes the event happen calls set().
#pragma once

#include <tutti/detail/timer.hpp>
#include <tutti/detail/waiting.hpp>

namespace tutti {

/// Awaited once: true, or false if the deadline came first. Make it a local of the task, so that nothing sets it after its scope.
class timed_event final : detail::waiting {
public:
    explicit timed_event(time_point deadline) noexcept : deadline_(deadline) {}
    ~timed_event() { give_up(); }

    /// On the loop. Only the first call counts.
    void set() noexcept {
        if (set_) return;
        set_ = true;
        if (!waits_) return;
        give_up();
        end();
    }

    bool await_ready() const noexcept { return set_; }
    template <detail::task_promise Promise>
    bool await_suspend(std::coroutine_handle<Promise> who) {
        return start(who.promise());
    }
    bool await_resume() const {
        throw_if_cancelled();
        return set_;
    }
    void explain(detail::explanation& out) const { out.line("an answer of the store"); }

private:
    bool start(detail::promise_base& who) {
        if (!begin(who)) return false;
        waits_ = true;
        if (deadline_ != no_deadline) loop().start_timer(alarm_, deadline_);
        return true;
    }
    void due() noexcept {
        waits_ = false;
        end();
    }
    void give_up() noexcept override {
        waits_ = false;
        if (alarm_.started()) loop().stop_timer(alarm_);
    }

    time_point deadline_;
    bool set_ = false;
    bool waits_ = false;
    detail::alarm<&timed_event::due> alarm_{*this};
};

}  // namespace tutti
