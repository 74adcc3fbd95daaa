// Signals between tasks of one loop: an event has happened, a condition has changed.
#pragma once

#include <tutti/detail/waiting.hpp>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

class line_awaiter;

/// Tasks that wait for one event or condition, in the order of arrival.
class line {
public:
    explicit line(const char* what) noexcept : what_(what) {}
    line(const line&) = delete;
    line& operator=(const line&) = delete;

    bool open() const noexcept { return open_; }
    /// Sets whether every task passes without waiting.
    void open(bool passes) noexcept { open_ = passes; }
    void let_first_go() noexcept;
    void let_all_go() noexcept;

private:
    friend class line_awaiter;
    line_awaiter* first_ = nullptr;
    line_awaiter* last_ = nullptr;
    const char* const what_;
    bool open_ = false;
};

class line_awaiter final : waiting {
public:
    explicit line_awaiter(line& where) noexcept : line_(where) {}
    ~line_awaiter() { give_up(); }

    bool await_ready() const noexcept { return line_.open(); }
    template <task_promise Promise>
    bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
        who.promise().waits_for(*this);
        return begin(who.promise()) && stand();
    }
    void await_resume() const { throw_if_cancelled(); }
    void explain(explanation& out) const { out.line(line_.what_); }

private:
    friend class line;
    bool stand() noexcept;
    void give_up() noexcept override;

    line& line_;
    line_awaiter* next_ = nullptr;
    line_awaiter* previous_ = nullptr;
    bool stands_ = false;
};

/// A wait as a value: it may be kept, copied, and awaited any number of times, while the line lives.
class [[nodiscard]] wait_in_line {
public:
    explicit wait_in_line(line& where) noexcept : line_(&where) {}
    line_awaiter operator co_await() const noexcept { return line_awaiter(*line_); }

private:
    line* line_;
};

}  // namespace detail

/// A flag that tasks can wait for: `co_await done.wait();`. Once set it lets every task pass, until it is reset. It outlives the tasks that
/// wait for it. Used on one loop only: to set it, another thread posts work to that loop (event_loop::post).
class event {
public:
    event() noexcept = default;

    bool is_set() const noexcept { return line_.open(); }
    /// Sets the flag. Waiting tasks resume after the caller, in the order of arrival.
    void set() noexcept {
        line_.open(true);
        line_.let_all_go();
    }
    void reset() noexcept { line_.open(false); }

    /// Waits until the flag is set. Throws error::cancelled if the task is cancelled meanwhile.
    detail::wait_in_line wait() noexcept { return detail::wait_in_line(line_); }

private:
    detail::line line_{"an event"};
};

/// Notifies waiting tasks of a change, and remembers nothing. So a task tests its condition before and after it waits:
///
///     while (queue.empty()) co_await changed.wait();      // in one task
///     queue.push(job), changed.notify_one();              // in another task of the same loop
///
/// It outlives the tasks that wait for it. Used on one loop only: to notify, another thread posts work to that loop (event_loop::post).
class condition {
public:
    condition() noexcept = default;

    /// Resumes the task that has waited longest, after the caller. Does nothing if none waits.
    void notify_one() noexcept { line_.let_first_go(); }
    /// Resumes all waiting tasks, after the caller, in the order of arrival.
    void notify_all() noexcept { line_.let_all_go(); }

    /// Waits for a notification. Throws error::cancelled if the task is cancelled meanwhile; a task that was notified before returns.
    detail::wait_in_line wait() noexcept { return detail::wait_in_line(line_); }

private:
    detail::line line_{"a condition"};
};

}  // namespace tutti
