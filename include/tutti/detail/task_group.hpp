// Concurrent tasks under one cancel_source, and the one task that waits until the last has ended.
#pragma once

#include <tutti/cancel.hpp>
#include <tutti/detail/promise.hpp>

#include <exception>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

class task_group final : private task_owner {
public:
    /// Selects when the other tasks are cancelled.
    enum class ends_with { first_error, first_ended };
    /// Selects the owner of the frames: the caller, which destroys them after the end of all, or the task group, which does so
    /// as each ends.
    enum class frames { lent, owned };

    task_group(event_loop& loop, frames owner, ends_with rule = ends_with::first_error) noexcept;
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    /// Running children stop the program, unless their frames are destroyed with the frame that holds this object.
    ~task_group();

    /// Destroys the frames that it owns, while the frame that holds this object is destroyed, and before anything else in that frame.
    void destroy_frames() noexcept;
    void start(promise_base* child) noexcept;
    void cancel() noexcept { source_.request(); }
    void follow(cancel_token parent) noexcept;
    cancel_token token() noexcept { return source_.token(); }
    /// Records an error and cancels all tasks, unless `why` only answers an earlier cancellation.
    void fail(std::exception_ptr why) noexcept;

    std::size_t running() const noexcept { return running_; }
    /// Returns the first task to end; null before.
    const promise_base* winner() const noexcept { return winner_; }
    const std::vector<std::exception_ptr>& errors() const noexcept { return errors_; }
    void explain(explanation& out) const;

    class join_awaiter {
    public:
        explicit join_awaiter(task_group& children) noexcept : children_(children) {}
        bool await_ready() const noexcept { return false; }
        template <task_promise Promise>
        bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
            return children_.wait(who.promise());
        }
        void await_resume() const { children_.finish(); }
        void explain(explanation& out) const { children_.explain(out); }

    private:
        task_group& children_;
    };
    /// Ends when all tasks have ended. Cancelling the join cancels them. Throws the first error.
    join_awaiter join() noexcept { return join_awaiter(*this); }

private:
    void ended(promise_base& child) noexcept override;
    void record(promise_base& child) noexcept;
    bool wait(promise_base& who) noexcept;
    void finish();
    void reap() noexcept;

    event_loop& loop_;
    const frames owner_;
    const ends_with rule_;
    cancel_source source_;
    cancel_token parent_;
    promise_base* first_ = nullptr;  // of the running tasks
    std::size_t running_ = 0;
    promise_base* ended_ = nullptr;  // owned frames, not yet destroyed
    const promise_base* winner_ = nullptr;
    promise_base* waiter_ = nullptr;
    std::vector<std::exception_ptr> errors_;
    bool joined_ = false;
    bool reaping_ = false;
    callback<&task_group::reap> reaper_{*this};
};

}  // namespace detail
}  // namespace tutti
