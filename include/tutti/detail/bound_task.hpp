// Tasks that know their loop when no task awaits them, and the way to start one: the caller gets a future.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/cancel.hpp>
#include <tutti/detail/future_source.hpp>
#include <tutti/future.hpp>
#include <tutti/when_all.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// Binds a task to its loop, which outlives the task.
template <class T>
task<T> bind_to_loop(event_loop& loop, task<T> work) {
    work.inner()->bind_to(loop);
    return work;
}

/// Returns why such a task cannot be started from outside of any task: it was moved away, knows no loop, or knows a loop that this process
/// inherited by a fork. Empty if it can.
TUTTI_API std::optional<failure> hindrance(const promise_base* work);
/// Starts `work`, which lets no exception out, on the loop soon. Any thread. It is destroyed when the loop will not run any more.
TUTTI_API void start_bound(event_loop& loop, task<> work);

/// A cancellation from outside, on any thread, for as long as the task runs.
class asked {
public:
    explicit asked(event_loop& loop) { source_.emplace(loop); }
    cancel_token token() noexcept { return source_->token(); }
    void request() {
        const std::lock_guard lock(guard_);
        if (over_ || requesting_) return;
        requesting_ = true;
        source_->request();
        requesting_ = false;
        if (over_) source_.reset();
    }
    /// Ends it: afterwards the loop is not touched; if called inside of a request, after that request has returned.
    void end() {
        const std::lock_guard lock(guard_);
        over_ = true;
        if (!requesting_) source_.reset();
    }

private:
    std::recursive_mutex guard_;  // a request on the loop may end the task at once
    std::optional<cancel_source> source_;
    bool requesting_ = false, over_ = false;
};

/// Ends the cancellation with the task's frame, however that ends, even before the task begins.
class asked_until_then {
public:
    explicit asked_until_then(std::shared_ptr<asked> what) noexcept : what_(std::move(what)) {}
    asked_until_then(asked_until_then&&) noexcept = default;
    asked_until_then& operator=(asked_until_then&&) = delete;
    ~asked_until_then() { end(); }
    cancel_token token() noexcept { return what_->token(); }
    void end() {
        if (const auto what = std::move(what_)) what->end();
    }

private:
    std::shared_ptr<asked> what_;
};

/// A task, and two objects that learn of its end. If the frame is destroyed in the middle, the task goes first; then its future gets the
/// failure.
template <class T>
struct resident {
    resident(future_source<T> to, std::shared_ptr<asked> request, task<T> what)
        : ends(std::move(to)), asking(std::move(request)), work(std::move(what)) {}

    future_source<T> ends;
    asked_until_then asking;
    task<T> work;
};

/// Returns a task's outcome as a result. An exception that is no failure becomes one with the code `otherwise`.
template <class T>
task<result<T>> outcome_of(task<T> work, error otherwise = error::aborted) {
    std::optional<failure> why;
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(work);
            co_return result<>();
        } else {
            co_return co_await std::move(work);
        }
    } catch (const failure& caught) {
        why = caught;
    } catch (const std::exception& caught) {
        why = failure(otherwise, caught.what());
    } catch (...) {
        why = failure(otherwise, "the task threw something that is no std::exception");
    }
    co_return std::move(*why);
}

template <class T>
task<> conclude(std::unique_ptr<resident<T>> all) {
    auto child = outcome_of(with_cancel(std::move(all->work), all->asking.token()));
    result<T> told = co_await std::move(child);
    all->asking.end();
    all->ends.end_with(std::move(told));
}

/// Starts a bound task. Any thread.
template <class T>
future<T> begin_bound(task<T> work) {
    if (auto why = hindrance(work.inner())) return failed_future<T>(std::move(*why));
    event_loop& loop = *work.inner()->bound_loop();
    const auto request = std::make_shared<asked>(loop);
    auto [end, source] = make_future<T>([request] { request->request(); });
    start_bound(loop, conclude(std::make_unique<resident<T>>(std::move(source), request, std::move(work))));
    return std::move(end);
}

}  // namespace detail
}  // namespace tutti
