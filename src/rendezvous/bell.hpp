// One task waits for one event, with a deadline: whoever makes the event happen rings.
#pragma once

#include <tutti/detail/timer.hpp>
#include <tutti/detail/waiting.hpp>

namespace tutti {

/// `const bool rung = co_await bell;` once. False: the deadline came first. A local of the task, so nobody rings it after its scope.
class bell final : detail::waiting {
public:
    explicit bell(time_point deadline) noexcept : deadline_(deadline) {}
    ~bell() { give_up(); }

    /// On the loop; from the second time on nothing happens.
    void ring() noexcept {
        if (rung_) return;
        rung_ = true;
        if (!waits_) return;
        give_up();
        end();
    }

    bool await_ready() const noexcept { return rung_; }
    template <detail::task_promise Promise>
    bool await_suspend(std::coroutine_handle<Promise> who) {
        return start(who.promise());
    }
    bool await_resume() const {
        throw_if_cancelled();
        return rung_;
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
    bool rung_ = false;
    bool waits_ = false;
    detail::alarm<&bell::due> alarm_{*this};
};

}  // namespace tutti
