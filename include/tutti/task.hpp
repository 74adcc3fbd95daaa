// A piece of asynchronous work, written as a coroutine. It starts when it is awaited, and ends before its awaiter continues.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/detail/promise.hpp>
#include <tutti/detail/tokens.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {

/// A lazy coroutine: it starts at `co_await std::move(t)`, which happens exactly once and throws the task's exceptions. A task runs on its
/// awaiter's loop and obeys its awaiter's cancellation.
///
/// The library's own tasks, such as communicator::close and context::join, are Asio operations too: `co_await world.close()` in a
/// boost::asio::awaitable, or `world.close()(token)`. They then run on the context's progress loop. Include <tutti/asio.hpp>.
template <class T = void>
class [[nodiscard]] task {
public:
    using promise_type = detail::promise<T>;

    task(task&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) {}
    task& operator=(task&& other) noexcept {
        task(std::move(other)).swap(*this);
        return *this;
    }
    ~task() {
        if (promise_ != nullptr) promise_->destroy();
    }
    /// Exchanges the two coroutines.
    void swap(task& other) noexcept { std::swap(promise_, other.promise_); }

    auto operator co_await() && noexcept { return awaiter(promise_); }

    /// Starts the task from outside of any task, on any thread, and calls `token` at its end as a future does. The handler gets
    /// error::invalid_argument if the task does not know its loop (async_run names one). It gets error::aborted if the task throws an
    /// exception other than `failure`, and error::cancelled if the loop is destroyed before the task has ended.
    template <detail::served_token<detail::ends_with_exception<T>> Token>
    decltype(auto) operator()(Token&& token) {
        return detail::completion<detail::ends_with_exception<T>, Token>::start(std::move(*this), static_cast<Token&&>(token));
    }
    template <class Token>
        requires detail::unserved_token<Token, std::exception_ptr> || detail::unserved_token<Token, std::exception_ptr, T>
    auto operator()(Token&&) {
        detail::ask_for_asio_header<Token>();
    }

    /// For the library.
    void explain(detail::explanation& out) const { promise_->explain(out); }
    /// For code that starts tasks; null after a move.
    promise_type* inner() const noexcept { return promise_; }
    promise_type* release() noexcept { return std::exchange(promise_, nullptr); }

private:
    friend promise_type;
    explicit task(promise_type& promise) noexcept : promise_(&promise) {}

    class awaiter {
    public:
        explicit awaiter(promise_type* child) noexcept : child_(child) {}
        bool await_ready() const noexcept { return false; }
        template <detail::task_promise Promise>
        bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
            return detail::start_child(child_, parent.promise());
        }
        T await_resume() { return child_->take(); }

    private:
        promise_type* child_;
    };

    promise_type* promise_;
};

namespace detail {
template <class T>
task<T> promise<T>::get_return_object() noexcept {
    return task<T>(*this);
}
template <class T>
task<T&> promise<T&>::get_return_object() noexcept {
    return task<T&>(*this);
}
inline task<void> promise<void>::get_return_object() noexcept { return task<void>(*this); }

/// Runs `loop` until the task has ended. Throws if it can never end.
TUTTI_API void run_to_end(event_loop& loop, promise_base* main);

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

/// A value that a task can await, as `as_task` takes it.
template <class Awaitable>
concept awaitable_value = awaitable_by<std::remove_cvref_t<Awaitable>, promise_base>;
template <class Awaitable>
using value_awaited = awaited<std::remove_cvref_t<Awaitable>>;

/// Coroutines with the names that users call in tutti: explanations of waiting tasks show these names.
namespace tasks {
template <class Awaitable>
task<awaited<Awaitable>> as_task(Awaitable what) {
    co_return co_await std::move(what);
}
}  // namespace tasks

}  // namespace detail

/// Returns a task that awaits `what`: a future, sleep_for(...), an event's wait(), a device operation. A task is returned as it is.
template <detail::awaitable_value Awaitable>
task<detail::value_awaited<Awaitable>> as_task(Awaitable&& what) {
    using value = std::remove_cvref_t<Awaitable>;
    static_assert(std::move_constructible<value>, "this can be awaited only where it is made: write a task that does so, and give that");
    static_assert(!std::move_constructible<value> || std::constructible_from<value, Awaitable>,
                  "this is awaited once: move it, as in std::move(f)");
    if constexpr (!std::move_constructible<value> || !std::constructible_from<value, Awaitable>) std::terminate();
    else if constexpr (detail::is_task<value>) return static_cast<Awaitable&&>(what);
    else return detail::tasks::as_task<value>(static_cast<Awaitable&&>(what));
}

/// Runs `loop` until `main` has ended. Throws what `main` threw, or, if nothing can run any more, a failure that names all waiting tasks.
template <class T>
T run(event_loop& loop, task<T> main) {
    detail::run_to_end(loop, main.inner());
    return main.inner()->take();
}

}  // namespace tutti
