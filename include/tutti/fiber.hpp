// A call stack that can wait, for code that cannot be a coroutine, such as a callback deep inside a C library.
#pragma once

#include <tutti/future.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

template <class Body, class T>
class fiber_body;
template <class Awaitable>
task<awaited<Awaitable>> await_one(Awaitable& what) {
    co_return co_await static_cast<Awaitable&&>(what);
}

}  // namespace detail

/// Runs code that waits without co_await:
///
///     auto work = [&] { c_library_sort(items, compare); };         // named first: g++ 12 miscompiles it inside the co_await
///     co_await fiber::run(work);                                    // in a task
///     int compare(...) { return fiber::await(std::move(f)); }       // at any depth below
///
/// Waiting suspends the whole stack and never blocks the loop. A fiber stays on its task's loop, and is cancelled with its task. If the
/// task is destroyed during a wait, the wait throws an object that is no std::exception, to unwind the stack. A `catch (...)` below
/// fiber::run must rethrow it, and it must not meet a noexcept function.
class fiber final {
public:
    static constexpr std::size_t default_stack_bytes = 256 * KiB;

    /// Runs `body()` on a stack of its own; the task ends with its result or exception. A guard page below the stack ends the program on
    /// overflow.
    template <class Body, class T = std::invoke_result_t<Body&>>
    static task<T> run(Body body, std::size_t stack_bytes = default_stack_bytes);

    /// Returns or throws what `co_await what` would in the fiber's task. Outside a fiber it throws error::invalid_argument.
    template <class T>
    static T await(task<T> what);
    template <class T>
    static T await(future<T> what);
    template <class Awaitable>
    static detail::awaited<Awaitable> await(Awaitable&& what);

    /// Returns whether the caller runs in a fiber and may call `await`.
    static bool inside() noexcept { return current() != nullptr; }
    /// Returns the fiber that the caller runs in, or null.
    static const fiber* current() noexcept;

private:
    template <class Body, class T>
    friend class detail::fiber_body;
    class parts;

    /// The code that runs on the stack.
    class entry {
    public:
        virtual void run() = 0;

    protected:
        ~entry() = default;
    };

    fiber(entry& body, std::size_t stack_bytes);
    /// Unwinds a stack that still waits.
    ~fiber();
    /// Lets the stack run until it waits, and returns the task that it waits for; null at its end. Throws what left the body.
    detail::promise_base* resume();
    void switch_over() noexcept;
    /// Called on the stack: returns when the task has ended.
    static void wait_for(detail::promise_base* task);
    static void check_inside();

    std::unique_ptr<parts> parts_;
};

namespace detail {

/// Waits for a task whose result the fiber takes.
class fiber_wait {
public:
    explicit fiber_wait(promise_base& task) noexcept : task_(task) {}
    bool await_ready() const noexcept { return false; }
    template <task_promise Promise>
    bool await_suspend(std::coroutine_handle<Promise> parent) noexcept {
        return start_child(&task_, parent.promise());
    }
    void await_resume() const noexcept {}
    void explain(explanation& out) const { task_.explain(out); }

private:
    promise_base& task_;
};

/// The body, its result, and the task that drives the stack.
template <class Body, class T>
class fiber_body final : fiber::entry {
public:
    static task<T> drive(Body body, std::size_t stack_bytes) {
        fiber_body entry(body);
        fiber stack(entry, stack_bytes);
        while (auto* wanted = stack.resume()) {
            fiber_wait wait(*wanted);
            co_await wait;
        }
        if constexpr (!std::is_void_v<T>) co_return std::move(*entry.value_);
    }

private:
    explicit fiber_body(Body& body) noexcept : body_(body) {}
    void run() override {
        if constexpr (std::is_void_v<T>) std::invoke(body_);
        else value_.emplace(std::invoke(body_));
    }

    Body& body_;
    std::optional<std::conditional_t<std::is_void_v<T>, std::nullptr_t, T>> value_;
};

}  // namespace detail

template <class Body, class T>
task<T> fiber::run(Body body, std::size_t stack_bytes) {
    return detail::fiber_body<Body, T>::drive(std::move(body), stack_bytes);
}

template <class T>
T fiber::await(task<T> what) {
    wait_for(what.inner());
    return what.inner()->take();
}

template <class T>
T fiber::await(future<T> what) {
    check_inside();
    if (what.ready()) return what.get();
    return await(as_task(std::move(what)));
}

template <class Awaitable>
detail::awaited<Awaitable> fiber::await(Awaitable&& what) {
    return await(detail::await_one<Awaitable>(what));
}

}  // namespace tutti
