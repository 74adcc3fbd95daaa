// Tasks that know where they run when no task awaits them, and how one is started then: the caller gets a future.
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

/// `loop` outlives the task.
template <class T>
task<T> bind_to_loop(event_loop& loop, task<T> work) {
    work.inner()->bind_to(loop);
    return work;
}

/// Why such a task cannot be started from outside of any task: it was moved away, or knows no loop, or a loop of the process that forked
/// this one. Nothing when it can.
TUTTI_API std::optional<failure> hindrance(const promise_base* work);
/// From any thread: `work`, which lets no exception out, runs on the loop soon. It is destroyed when nobody will run the loop any more.
TUTTI_API void start_bound(event_loop& loop, task<> work);

/// What is asked from outside, on whatever thread that is, as long as the task goes on.
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
    /// The loop is not touched any more when it returns, or when the request has returned in which it is called.
    void end() {
        const std::lock_guard lock(guard_);
        over_ = true;
        if (!requesting_) source_.reset();
    }

private:
    std::recursive_mutex guard_;  // what is requested on the loop may end the task at once
    std::optional<cancel_source> source_;
    bool requesting_ = false, over_ = false;
};

/// Of the task's frame, however that ends, be it before the task begins.
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

/// A task, and the two who hear of its end. Destroyed in the middle, the task goes first, and then its future hears of that.
template <class T>
struct resident {
    resident(future_source<T> to, std::shared_ptr<asked> request, task<T> what)
        : ends(std::move(to)), asking(std::move(request)), work(std::move(what)) {}

    future_source<T> ends;
    asked_until_then asking;
    task<T> work;
};

/// How a task ends, for those who do not want it thrown. An exception that is no failure becomes one with the code `otherwise`.
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

/// From any thread.
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
