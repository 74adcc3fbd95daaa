// Combinations of waits: wait for all, for the first, or no longer than a deadline or a token allows.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/detail/task_group.hpp>
#include <tutti/error.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {

/// The index of the task that ended first, and its value.
template <class T>
struct winner {
    std::size_t index;
    T value;
};

namespace detail {

template <class T>
value_of<T> take_value(task<T>& ended) {
    if constexpr (std::is_void_v<T>) {
        ended.inner()->take();
        return {};
    } else {
        return ended.inner()->take();
    }
}

template <class Result, std::size_t... I, class... Ts>
Result take_winner(const promise_base* winner, std::index_sequence<I...>, task<Ts>&... tasks) {
    std::optional<Result> result;
    ((tasks.inner() == winner ? (void)result.emplace(std::in_place_index<I>, take_value(tasks)) : void()), ...);
    return std::move(*result);
}

template <class T>
std::size_t index_of(const promise_base* winner, const std::vector<task<T>>& tasks) noexcept {
    std::size_t index = 0;
    while (tasks[index].inner() != winner) ++index;
    return index;
}

[[noreturn]] TUTTI_API void throw_no_tasks();

/// Cancels the enclosing task, and so whatever the task awaits, at a date.
class deadline {
public:
    deadline(promise_base& who, time_point when);
    ~deadline() { loop_.stop_timer(alarm_); }
    deadline(const deadline&) = delete;
    deadline& operator=(const deadline&) = delete;

    /// Throws error::timed_out if `why` is the result of this deadline.
    void translate(const failure& why) const;

private:
    void pass() noexcept;

    event_loop& loop_;
    cancel_source source_;
    bool passed_ = false;
    alarm<&deadline::pass> alarm_{*this};
};

/// Cancels the enclosing task when either of two tokens is cancelled.
class second_token {
public:
    second_token(promise_base& who, cancel_token token);

private:
    class link final : cancel_callback {
    public:
        explicit link(cancel_source& to) noexcept : to_(to) {}
        void follow(cancel_token token) noexcept {
            if (!watch(token)) to_.request();
        }

    private:
        void cancelled() noexcept override { to_.request(); }
        cancel_source& to_;
    };

    cancel_source source_;
    link link_{source_};
};

namespace tasks {

template <class... Ts>
    requires(sizeof...(Ts) > 0 && !(std::is_void_v<Ts> && ...))
task<std::tuple<value_of<Ts>...>> when_all(task<Ts>... tasks) {
    event_loop& loop = co_await this_loop;
    task_group running(loop, task_group::frames::lent);
    (running.start(tasks.inner()), ...);
    co_await running.join();
    co_return std::tuple<value_of<Ts>...>(take_value(tasks)...);
}

template <class... Ts>
    requires(std::is_void_v<Ts> && ...)
task<> when_all(task<Ts>... tasks) {
    event_loop& loop = co_await this_loop;
    task_group running(loop, task_group::frames::lent);
    (running.start(tasks.inner()), ...);
    co_await running.join();
}

template <class T>
    requires(!std::is_void_v<T>)
task<std::vector<T>> when_all(std::vector<task<T>> tasks) {
    event_loop& loop = co_await this_loop;
    task_group running(loop, task_group::frames::lent);
    for (auto& each : tasks) running.start(each.inner());
    co_await running.join();
    std::vector<T> values;
    values.reserve(tasks.size());
    for (auto& each : tasks) values.push_back(each.inner()->take());
    co_return values;
}

inline task<> when_all(std::vector<task<>> tasks) {
    event_loop& loop = co_await this_loop;
    task_group running(loop, task_group::frames::lent);
    for (auto& each : tasks) running.start(each.inner());
    co_await running.join();
}

template <class... Ts>
task<std::variant<value_of<Ts>...>> when_any(task<Ts>... tasks) {
    using result_type = std::variant<value_of<Ts>...>;
    event_loop& loop = co_await this_loop;
    task_group running(loop, task_group::frames::lent, task_group::ends_with::first_ended);
    (running.start(tasks.inner()), ...);
    co_await running.join();
    co_return take_winner<result_type>(running.winner(), std::index_sequence_for<Ts...>(), tasks...);
}

template <class T>
    requires(!std::is_void_v<T>)
task<winner<T>> when_any(std::vector<task<T>> tasks) {
    if (tasks.empty()) throw_no_tasks();
    event_loop& loop = co_await this_loop;
    task_group running(loop, task_group::frames::lent, task_group::ends_with::first_ended);
    for (auto& each : tasks) running.start(each.inner());
    co_await running.join();
    const std::size_t index = index_of(running.winner(), tasks);
    co_return winner<T>{index, tasks[index].inner()->take()};
}

inline task<std::size_t> when_any(std::vector<task<>> tasks) {
    if (tasks.empty()) throw_no_tasks();
    event_loop& loop = co_await this_loop;
    task_group running(loop, task_group::frames::lent, task_group::ends_with::first_ended);
    for (auto& each : tasks) running.start(each.inner());
    co_await running.join();
    const std::size_t index = index_of(running.winner(), tasks);
    tasks[index].inner()->take();
    co_return index;
}

template <class T>
task<T> with_deadline(task<T> child, time_point when) {
    promise_base& self = co_await this_task_awaiter();
    const deadline limit(self, when);
    try {
        co_return co_await std::move(child);
    } catch (const failure& why) {
        limit.translate(why);
        throw;
    }
}

template <class T>
task<T> with_deadline(task<T> child, duration length) {
    event_loop& loop = co_await this_loop;
    co_return co_await with_deadline(std::move(child), later(loop.now(), length));
}

template <class T>
task<T> with_cancel(task<T> child, cancel_token token) {
    promise_base& self = co_await this_task_awaiter();
    const second_token both(self, token);
    co_return co_await std::move(child);
}

template <class T>
task<T> without_cancel(task<T> child) {
    promise_base& self = co_await this_task_awaiter();
    self.obey(cancel_token());
    co_return co_await std::move(child);
}

}  // namespace tasks

/// Returns a task for each awaitable.
template <class Awaitable>
std::vector<task<awaited<Awaitable>>> as_tasks(std::vector<Awaitable> all) {
    if constexpr (is_task<Awaitable>) {
        return all;
    } else {
        std::vector<task<awaited<Awaitable>>> tasks;
        tasks.reserve(all.size());
        for (auto& each : all) tasks.push_back(as_task(std::move(each)));
        return tasks;
    }
}

}  // namespace detail

// The functions below take everything that a task can await, as in `co_await when_all(world.barrier(), work(), sleep_for(1s))`: tasks,
// futures, sleep_for and sleep_until, the wait() of an event or a condition, device operations. Move in what can be awaited only once.

/// Awaits all concurrently. Returns a tuple of their values, with `std::monostate` for void; nothing if all are void. The first error
/// cancels the others, and is thrown after all have ended.
template <detail::awaitable_value... Awaitables>
auto when_all(Awaitables&&... all) {
    return detail::tasks::when_all(as_task(static_cast<Awaitables&&>(all))...);
}

/// Awaits all of a vector concurrently. Returns a vector of their values.
template <detail::awaitable_value Awaitable>
auto when_all(std::vector<Awaitable>&& all) {
    return detail::tasks::when_all(detail::as_tasks(std::move(all)));
}

/// Awaits all concurrently, until the first has ended. Returns its value (a variant whose index says which one it was) or throws its error.
/// The others are cancelled and awaited; an error of theirs, other than error::cancelled, is thrown too, so that it is not lost.
template <detail::awaitable_value... Awaitables>
    requires(sizeof...(Awaitables) > 0)
auto when_any(Awaitables&&... all) {
    return detail::tasks::when_any(as_task(static_cast<Awaitables&&>(all))...);
}

/// Awaits the first of a vector that is not empty. Returns a `winner`, or for void the index of the first.
template <detail::awaitable_value Awaitable>
auto when_any(std::vector<Awaitable>&& all) {
    return detail::tasks::when_any(detail::as_tasks(std::move(all)));
}

/// Cancels `child` at `when`, or after awaiting it for `length`, and throws error::timed_out once it has ended. If the child still ends
/// with a result or an error of its own, that counts.
template <detail::awaitable_value Awaitable>
task<detail::value_awaited<Awaitable>> with_deadline(Awaitable&& child, time_point when) {
    return detail::tasks::with_deadline(as_task(static_cast<Awaitable&&>(child)), when);
}
template <detail::awaitable_value Awaitable>
task<detail::value_awaited<Awaitable>> with_deadline(Awaitable&& child, duration length) {
    return detail::tasks::with_deadline(as_task(static_cast<Awaitable&&>(child)), length);
}

/// Awaits `child`, which `token` cancels too.
template <detail::awaitable_value Awaitable>
task<detail::value_awaited<Awaitable>> with_cancel(Awaitable&& child, cancel_token token) {
    return detail::tasks::with_cancel(as_task(static_cast<Awaitable&&>(child)), token);
}

/// Awaits `child` without passing on the awaiter's cancellation: for clean-up that must finish.
template <detail::awaitable_value Awaitable>
task<detail::value_awaited<Awaitable>> without_cancel(Awaitable&& child) {
    return detail::tasks::without_cancel(as_task(static_cast<Awaitable&&>(child)));
}

}  // namespace tutti
