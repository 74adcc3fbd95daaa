// Several tasks as one: wait for all, wait for the first, or wait no longer than a deadline or a token allows.
#pragma once

#include <tutti/detail/family.hpp>
#include <tutti/error.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
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
std::size_t place_of(const promise_base* winner, const std::vector<task<T>>& tasks) noexcept {
    std::size_t place = 0;
    while (tasks[place].inner() != winner) ++place;
    return place;
}

[[noreturn]] void throw_no_tasks();

/// Cancels the task it is made in, and so whatever that awaits, at a date.
class deadline {
public:
    deadline(promise_base& who, time_point when);
    ~deadline() { loop_.stop_timer(alarm_); }
    deadline(const deadline&) = delete;
    deadline& operator=(const deadline&) = delete;

    /// Whether `why` is the answer to this deadline: then throws error::timed_out instead.
    void translate(const failure& why) const;

private:
    void pass() noexcept;

    event_loop& loop_;
    cancel_source source_;
    bool passed_ = false;
    alarm<&deadline::pass> alarm_{*this};
};

/// Cancels the task it is made in when either of two tokens is.
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

}  // namespace detail

/// Runs the tasks at the same time and gives their values, `std::monostate` for void, or nothing when all are void. The first error cancels the others and is thrown
/// after all have ended.
template <class... Ts>
    requires(sizeof...(Ts) > 0 && !(std::is_void_v<Ts> && ...))
task<std::tuple<detail::value_of<Ts>...>> when_all(task<Ts>... tasks) {
    event_loop& loop = co_await this_loop;
    detail::family running(loop, detail::family::frames::lent);
    (running.start(tasks.inner()), ...);
    co_await running.join();
    co_return std::tuple<detail::value_of<Ts>...>(detail::take_value(tasks)...);
}

template <class... Ts>
    requires(std::is_void_v<Ts> && ...)
task<> when_all(task<Ts>... tasks) {
    event_loop& loop = co_await this_loop;
    detail::family running(loop, detail::family::frames::lent);
    (running.start(tasks.inner()), ...);
    co_await running.join();
}

template <class T>
    requires(!std::is_void_v<T>)
task<std::vector<T>> when_all(std::vector<task<T>> tasks) {
    event_loop& loop = co_await this_loop;
    detail::family running(loop, detail::family::frames::lent);
    for (auto& each : tasks) running.start(each.inner());
    co_await running.join();
    std::vector<T> values;
    values.reserve(tasks.size());
    for (auto& each : tasks) values.push_back(each.inner()->take());
    co_return values;
}

inline task<> when_all(std::vector<task<>> tasks) {
    event_loop& loop = co_await this_loop;
    detail::family running(loop, detail::family::frames::lent);
    for (auto& each : tasks) running.start(each.inner());
    co_await running.join();
}

/// Runs the tasks at the same time. The first to end decides, with its value (whose index tells which it was) or its error; the others
/// are cancelled and awaited. An error one of those still makes, other than error::cancelled, is thrown: it is not lost.
template <class... Ts>
    requires(sizeof...(Ts) > 0)
task<std::variant<detail::value_of<Ts>...>> when_any(task<Ts>... tasks) {
    using result_type = std::variant<detail::value_of<Ts>...>;
    event_loop& loop = co_await this_loop;
    detail::family running(loop, detail::family::frames::lent, detail::family::ends_with::first_ended);
    (running.start(tasks.inner()), ...);
    co_await running.join();
    co_return detail::take_winner<result_type>(running.winner(), std::index_sequence_for<Ts...>(), tasks...);
}

/// Which of several tasks ended first, and its value.
template <class T>
struct winner {
    std::size_t index;
    T value;
};

template <class T>
    requires(!std::is_void_v<T>)
task<winner<T>> when_any(std::vector<task<T>> tasks) {
    if (tasks.empty()) detail::throw_no_tasks();
    event_loop& loop = co_await this_loop;
    detail::family running(loop, detail::family::frames::lent, detail::family::ends_with::first_ended);
    for (auto& each : tasks) running.start(each.inner());
    co_await running.join();
    const std::size_t place = detail::place_of(running.winner(), tasks);
    co_return winner<T>{place, tasks[place].inner()->take()};
}

inline task<std::size_t> when_any(std::vector<task<>> tasks) {
    if (tasks.empty()) detail::throw_no_tasks();
    event_loop& loop = co_await this_loop;
    detail::family running(loop, detail::family::frames::lent, detail::family::ends_with::first_ended);
    for (auto& each : tasks) running.start(each.inner());
    co_await running.join();
    const std::size_t place = detail::place_of(running.winner(), tasks);
    tasks[place].inner()->take();
    co_return place;
}

/// Cancels `child` at `when` and throws error::timed_out once it has ended. A child that ends with a result or an error of its own all
/// the same is believed.
template <class T>
task<T> with_deadline(task<T> child, time_point when) {
    detail::promise_base& self = co_await detail::this_task_awaiter();
    const detail::deadline limit(self, when);
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

/// `child` is cancelled by `token` too.
template <class T>
task<T> with_cancel(task<T> child, cancel_token token) {
    detail::promise_base& self = co_await detail::this_task_awaiter();
    const detail::second_token both(self, token);
    co_return co_await std::move(child);
}

/// `child` does not hear of its awaiter's cancellation: for the clean-up that must go on.
template <class T>
task<T> without_cancel(task<T> child) {
    detail::promise_base& self = co_await detail::this_task_awaiter();
    self.obey(cancel_token());
    co_return co_await std::move(child);
}

}  // namespace tutti
