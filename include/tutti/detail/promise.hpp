// The start of every task's frame: its loop, its token, its waiter, and what it waits for.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/cancel.hpp>
#include <tutti/detail/awaiting.hpp>
#include <tutti/detail/explanation.hpp>
#include <tutti/detail/runnable.hpp>
#include <tutti/event_loop.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <variant>

namespace [[gnu::visibility("default")]] tutti {
template <class T>
class task;
}

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

// Coroutine frames come from small per-thread free lists.
TUTTI_API void* allocate_frame(std::size_t bytes);
TUTTI_API void recycle_frame(void* frame, std::size_t bytes) noexcept;

class promise_base;

/// Is notified at the end of a task that no coroutine awaits: `run`, a scope, when_all.
class task_owner {
public:
    /// The task is in its final suspension; it must not be destroyed here.
    virtual void ended(promise_base& task) noexcept = 0;

protected:
    ~task_owner() = default;
};

/// Refers to an awaiter elsewhere in the awaiting expression. (g++ 12 copies the object if await_transform returns a reference.)
template <class Awaiter>
class awaiter_reference {
public:
    explicit awaiter_reference(Awaiter& awaiter) noexcept : awaiter_(awaiter) {}
    bool await_ready() { return awaiter_.await_ready(); }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> who) {
        return awaiter_.await_suspend(who);
    }
    decltype(auto) await_resume() { return awaiter_.await_resume(); }

private:
    Awaiter& awaiter_;
};

/// Resumes its coroutine when it is posted to its loop. Awaiters end a wait in this way.
class promise_base : public runnable {
public:
    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { recycle_frame(frame, bytes); }

    event_loop& loop() const noexcept { return *loop_; }
    /// Returns, before the start, the loop on which the task runs when no task awaits it; null if unknown.
    event_loop* bound_loop() const noexcept { return started_ ? nullptr : loop_; }
    void bind_to(event_loop& loop) noexcept { loop_ = &loop; }
    cancel_token token() const noexcept { return token_; }
    void obey(cancel_token token) noexcept { token_ = token; }
    void resume_soon() noexcept { loop_->post(*this); }
    void run() noexcept override { self_.resume(); }

    bool started() const noexcept { return started_; }
    bool done() const noexcept { return done_; }
    bool failed() const noexcept { return error_ != nullptr; }
    const std::exception_ptr& error() const noexcept { return error_; }

    /// Runs the task until it ends (returns false) or waits (returns true). If it ends after a wait, it resumes `parent`.
    bool start(promise_base& parent) noexcept;
    /// Runs the task as part of `loop`'s work, and notifies `owner` at its end.
    void start(event_loop& loop, cancel_token token, task_owner& owner) noexcept;

    /// Destroys the frame, for an owner that took it from its task.
    void destroy() noexcept;

    /// Adds the name of the coroutine, where it waits, and for what, line by line.
    void explain(explanation& out) const;
    const std::source_location& made_by() const noexcept { return made_by_; }

    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() const noexcept { return final_awaiter(); }
    void unhandled_exception() noexcept { error_ = std::current_exception(); }

    /// Makes `what` explain the wait from here on. Called by an awaiter that is not the object it was made from.
    template <class What>
    void waits_for(const What& what) noexcept {
        waits_for_ = &what;
        explain_wait_ = [](const void* known, explanation& out) {
            if constexpr (requires(const What& one) { one.explain(out); }) static_cast<const What*>(known)->explain(out);
            else out.line("something it did not name");
        };
    }

    template <class Awaitable>
    decltype(auto) await_transform(Awaitable&& what, std::source_location where = std::source_location::current()) {
        constexpr bool possible = awaitable_by<Awaitable, promise_base>;
        constexpr bool possible_once = awaitable_by<std::remove_reference_t<Awaitable>, promise_base>;
        static_assert(possible || !possible_once, "a task is awaited once: move it, as in co_await std::move(t)");
        static_assert(possible || possible_once,
                      "a tutti::task cannot await this: write the coroutine as a boost::asio::awaitable, which can await Tutti's futures and "
                      "tasks too");
        waits_at_ = where;
        waits_for(what);
        if constexpr (!possible) {
            return std::suspend_never();
        } else if constexpr (std::is_reference_v<awaiter_for<Awaitable>>) {
            auto&& elsewhere = awaiter_of(static_cast<Awaitable&&>(what));
            return awaiter_reference(elsewhere);
        } else {
            return awaiter_of(static_cast<Awaitable&&>(what));
        }
    }

    // Neighbours in its owner's list of tasks.
    promise_base* next = nullptr;
    promise_base* previous = nullptr;

protected:
    promise_base(std::coroutine_handle<> self, std::source_location made_by) noexcept : self_(self), made_by_(made_by) {}
    ~promise_base() = default;

    void rethrow_error() const {
        if (error_ != nullptr) std::rethrow_exception(error_);
    }

private:
    struct final_awaiter {  // has nothing to destroy
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
            return self.promise().finish();
        }
        void await_resume() const noexcept {}
    };
    std::coroutine_handle<> finish() noexcept {
        done_ = true;
        if (owner_ != nullptr) {
            owner_->ended(*this);
            return std::noop_coroutine();
        }
        if (starting_) return std::noop_coroutine();  // the parent is below on the stack and continues by itself
        return parent_->self_;
    }

    std::coroutine_handle<> self_;
    event_loop* loop_ = nullptr;
    cancel_token token_;
    promise_base* parent_ = nullptr;
    task_owner* owner_ = nullptr;
    std::exception_ptr error_;
    std::source_location made_by_;
    std::source_location waits_at_;
    const void* waits_for_ = nullptr;
    void (*explain_wait_)(const void*, explanation&) = nullptr;
    bool started_ = false;
    bool starting_ = false;
    bool done_ = false;
};

template <class T>
class promise final : public promise_base {
public:
    explicit promise(std::source_location made_by = std::source_location::current()) noexcept
        : promise_base(std::coroutine_handle<promise>::from_promise(*this), made_by) {}
    task<T> get_return_object() noexcept;

    template <class U = T>
        requires std::is_convertible_v<U&&, T>
    void return_value(U&& value) {
        value_.emplace(std::forward<U>(value));
    }
    /// Returns the result, once; throws what the task threw.
    T take() {
        rethrow_error();
        return std::move(*value_);
    }

private:
    std::optional<T> value_;
};

template <class T>
class promise<T&> final : public promise_base {
public:
    explicit promise(std::source_location made_by = std::source_location::current()) noexcept
        : promise_base(std::coroutine_handle<promise>::from_promise(*this), made_by) {}
    task<T&> get_return_object() noexcept;

    void return_value(T& value) noexcept { value_ = &value; }
    T& take() const {
        rethrow_error();
        return *value_;
    }

private:
    T* value_ = nullptr;
};

template <>
class promise<void> final : public promise_base {
public:
    explicit promise(std::source_location made_by = std::source_location::current()) noexcept
        : promise_base(std::coroutine_handle<promise>::from_promise(*this), made_by) {}
    task<void> get_return_object() noexcept;

    void return_void() const noexcept {}
    void take() const { rethrow_error(); }
};

/// While it lives, tasks that have started and not ended are being destroyed, with everything that they wait for.
class forsaking {
public:
    forsaking() noexcept;
    explicit forsaking(promise_base& task) noexcept;
    forsaking(const forsaking&) = delete;
    forsaking& operator=(const forsaking&) = delete;
    ~forsaking();
    static bool going_on() noexcept;
};

/// Starts a child, like promise_base::start, and checks that it exists.
TUTTI_API bool start_child(promise_base* child, promise_base& parent) noexcept;

[[noreturn]] TUTTI_API void throw_cancelled();

/// The type that stands for the result of a task<T> in tuples and variants.
template <class T>
using value_of = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class Promise>
concept task_promise = std::is_base_of_v<promise_base, Promise>;

}  // namespace detail
}  // namespace tutti
