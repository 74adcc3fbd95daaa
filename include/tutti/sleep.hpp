// Time and order for tasks: wait for a date, let other work run, and find the task's loop and token.
#pragma once

#include <tutti/detail/timer.hpp>
#include <tutti/detail/waiting.hpp>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

class sleep_awaiter final : waiting {
public:
    explicit sleep_awaiter(time_point until) noexcept : until_(until) {}
    explicit sleep_awaiter(duration length) noexcept : length_(length), relative_(true) {}
    ~sleep_awaiter() { give_up(); }

    bool await_ready() const noexcept { return false; }
    template <task_promise Promise>
    bool await_suspend(std::coroutine_handle<Promise> who) {
        who.promise().waits_for(*this);
        return start(who.promise());
    }
    void await_resume() const { throw_if_cancelled(); }
    void explain(explanation& out) const;

private:
    bool start(promise_base& who);
    void give_up() noexcept override;
    void due() noexcept { end(); }

    time_point until_{};
    duration length_{};
    bool relative_ = false;
    alarm<&sleep_awaiter::due> alarm_{*this};
};

/// A wait as a value: it may be kept, copied, and awaited any number of times.
template <class Date>
class [[nodiscard]] pause {
public:
    explicit pause(Date until) noexcept : until_(until) {}
    sleep_awaiter operator co_await() const noexcept { return sleep_awaiter(until_); }

private:
    Date until_;
};

class yield_awaiter {
public:
    bool await_ready() const noexcept { return false; }
    template <task_promise Promise>
    bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        cancelled_ = who.promise().token().requested();
        if (!cancelled_) who.promise().resume_soon();
        return !cancelled_;
    }
    void await_resume() const;
    void explain(explanation& out) const { out.line("its turn"); }

private:
    bool cancelled_ = false;
};

class this_task_awaiter {
public:
    bool await_ready() const noexcept { return false; }
    template <task_promise Promise>
    bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        task_ = &who.promise();
        return false;
    }
    promise_base& await_resume() const noexcept { return *task_; }

private:
    promise_base* task_ = nullptr;
};
class this_loop_awaiter : public this_task_awaiter {
public:
    event_loop& await_resume() const noexcept { return this_task_awaiter::await_resume().loop(); }
};
class this_token_awaiter : public this_task_awaiter {
public:
    cancel_token await_resume() const noexcept { return this_task_awaiter::await_resume().token(); }
};

struct this_loop_t {
    this_loop_awaiter operator co_await() const noexcept { return {}; }
};
struct this_token_t {
    this_token_awaiter operator co_await() const noexcept { return {}; }
};

}  // namespace detail

/// Gives a task its loop: `event_loop& loop = co_await this_loop;`
inline constexpr detail::this_loop_t this_loop{};
/// Gives a task the token that it obeys: `cancel_token token = co_await this_token;`. The token is empty if nothing can cancel the task.
inline constexpr detail::this_token_t this_token{};

/// Waits for at least `length`; timers on a real clock may be a millisecond late.
inline detail::pause<duration> sleep_for(duration length) noexcept { return detail::pause<duration>(length); }
/// Waits until `when`. Even a date in the past lets other work run first.
inline detail::pause<time_point> sleep_until(time_point when) noexcept { return detail::pause<time_point>(when); }
/// Lets all queued work run first.
inline detail::yield_awaiter yield() noexcept { return {}; }

}  // namespace tutti
