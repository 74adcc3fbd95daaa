// Lets one task wait until a piece of work has run, or until a deadline. It reports the outcome; it never throws.
#pragma once

#include <tutti/detail/timer.hpp>
#include <tutti/detail/waiting.hpp>

#include <string_view>
#include <utility>

namespace tutti {

enum class woken { by_work, by_time, by_cancel };

/// Lives in the task's frame, on its loop. A link or a socket that was given it as work must forget it before it is destroyed.
class wake_call final : public detail::runnable {
    class awaiter;

public:
    /// Waits; ready at once when the work has run already. `what` names the event in reports of what tasks wait for.
    awaiter until(time_point deadline, std::string_view what) noexcept { return awaiter(*this, deadline, what); }

    void run() noexcept override {
        came_ = true;
        if (sleeper_ != nullptr) sleeper_->wake();
    }

private:
    class awaiter final : detail::waiting {
    public:
        awaiter(wake_call& call, time_point deadline, std::string_view what) noexcept : call_(call), deadline_(deadline), what_(what) {}
        ~awaiter() { forget(); }

        bool await_ready() const noexcept { return call_.came_; }
        template <detail::task_promise Promise>
        bool await_suspend(std::coroutine_handle<Promise> who) {
            if (!begin(who.promise())) return false;
            call_.sleeper_ = this;
            if (deadline_ != no_deadline) loop().start_timer(alarm_, deadline_);
            return true;
        }
        woken await_resume() noexcept {
            if (was_cancelled()) return woken::by_cancel;
            if (std::exchange(call_.came_, false)) return woken::by_work;
            return woken::by_time;
        }
        void explain(detail::explanation& out) const { out.line(what_); }

        void wake() noexcept {
            forget();
            end();
        }

    private:
        void give_up() noexcept override { forget(); }
        void forget() noexcept {
            call_.sleeper_ = nullptr;
            if (alarm_.started()) loop().stop_timer(alarm_);
        }

        wake_call& call_;
        const time_point deadline_;
        const std::string_view what_;
        detail::alarm<&awaiter::wake> alarm_{*this};
    };

    bool came_ = false;
    awaiter* sleeper_ = nullptr;
};

}  // namespace tutti
