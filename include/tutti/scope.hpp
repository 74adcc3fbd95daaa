// Concurrent work, and a scope that it cannot outlive.
#pragma once

#include <tutti/detail/task_group.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {
class children_first;
}

/// Runs concurrent tasks; the only way to start them:
///
///     scope nursery;
///     nursery.start(child());
///     co_await nursery.join();
///
/// The first error cancels the other tasks; `join` waits for all and throws it. Leaving a scope that has running tasks, or an error and no
/// `join`, stops the program. So nothing may throw between `start` and `join`; where something can, use `with_scope`.
class scope {
public:
    /// Uses the loop that this thread runs.
    scope();
    explicit scope(event_loop& loop) noexcept : children_(loop, detail::task_group::frames::owned) {}

    /// Starts `child` after the work that is queued on the loop.
    void start(task<> child);
    /// Cancels all tasks; `join` does not throw because of that.
    void cancel() noexcept { children_.cancel(); }
    /// Cancels all tasks when `parent` is cancelled. `join` does this for the token of the task that joins.
    void follow(cancel_token parent) noexcept { children_.follow(parent); }
    /// Waits until every task has ended: `co_await nursery.join()`. More tasks may be started afterwards, and joined by another call.
    auto join() noexcept { return children_.join(); }

    std::size_t running() const noexcept { return children_.running(); }
    /// The first is the error that `join` throws; the others came while the tasks were ending.
    const std::vector<std::exception_ptr>& errors() const noexcept { return children_.errors(); }
    cancel_token token() noexcept { return children_.token(); }
    /// Adds an error from outside, as if a task had thrown it.
    void fail(std::exception_ptr why) noexcept { children_.fail(std::move(why)); }

private:
    friend class detail::children_first;
    detail::task_group children_;
};

namespace detail {
/// Stands behind a body in its frame. If the frame is destroyed before body and children have ended, it destroys the children first,
/// because they may use the body's parameters.
class children_first {
public:
    explicit children_first(scope& of) noexcept : of_(of) {}
    children_first(const children_first&) = delete;
    children_first& operator=(const children_first&) = delete;
    ~children_first() {
        if (forsaking::going_on()) of_.children_.destroy_frames();
    }

private:
    scope& of_;
};
}  // namespace detail

/// Runs `task<T> body(scope& nursery, arguments...)` and joins the scope however the body ends: `co_await with_scope(body, arguments...)`.
/// An error in a task cancels the body too. `body` is a function or a lambda without captures.
template <class Body, class... Arguments>
auto with_scope(Body body, Arguments... arguments) -> std::invoke_result_t<Body&, scope&, Arguments...> {
    using value_type = decltype(body(std::declval<scope&>(), std::move(arguments)...).inner()->take());
    detail::promise_base& self = co_await detail::this_task_awaiter();
    const cancel_token parent = self.token();
    scope nursery(self.loop());
    nursery.follow(parent);
    self.obey(nursery.token());
    std::optional<std::invoke_result_t<Body&, scope&, Arguments...>> work;  // until after the join: children may use its parameters
    const detail::children_first order(nursery);
    std::optional<detail::value_of<value_type>> value;
    try {
        work.emplace(body(nursery, std::move(arguments)...));
        if constexpr (std::is_void_v<value_type>) co_await std::move(*work);
        else value.emplace(co_await std::move(*work));
    } catch (...) {
        nursery.fail(std::current_exception());
    }
    self.obey(parent);
    co_await nursery.join();
    if constexpr (!std::is_void_v<value_type>) {
        if (!value) detail::throw_cancelled();  // by nursery.cancel()
        co_return std::move(*value);
    }
}

}  // namespace tutti
