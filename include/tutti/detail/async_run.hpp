// How a task is started by an Asio completion token: the task's end becomes a call of the handler on the handler's executor.
#pragma once

#include <tutti/detail/completion.hpp>
#include <tutti/detail/family.hpp>
#include <tutti/when_all.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace tutti {
boost::asio::any_io_executor executor_of(event_loop& loop);
}

namespace tutti::detail {

template <class T>
struct run_signature {
    using type = void(std::exception_ptr, T);
};
template <>
struct run_signature<void> {
    using type = void(std::exception_ptr);
};
template <class T>
using run_signature_of = typename run_signature<T>::type;

/// Tasks started from outside of any task; they belong to the loop.
family& residents_of(event_loop& loop);
/// Null, or why nothing can be started: the loop belongs to the process that forked this one.
std::exception_ptr foreignness_of(event_loop& loop);

/// What Asio's cancellation of a handler asks, on whatever thread that is, as long as the task goes on.
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

/// Runs `call` on the executor. Where any thread will do it is this one: posting would start the threads of Asio's pool.
template <class Executor, class Call>
void post_soon(const Executor& executor, Call call) {
    if constexpr (runs_anywhere<Executor>) boost::asio::dispatch(executor, std::move(call));
    else boost::asio::post(executor, std::move(call));
}

/// On the handler's executor, where its slot may be asked meanwhile.
template <class Handler>
void clear_slot_of(const Handler& handler) {
    if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected()) slot.clear();
}

template <class T, class Handler>
void call_soon(Handler handler, const boost::asio::any_io_executor& fallback, std::exception_ptr why,
               [[maybe_unused]] std::optional<value_of<T>> value) {
    const auto executor = boost::asio::get_associated_executor(handler, fallback);
    if constexpr (std::is_void_v<T>) {
        auto call = [handler = std::move(handler), why = std::move(why)]() mutable {
            clear_slot_of(handler);
            std::move(handler)(std::move(why));
        };
        post_soon(executor, std::move(call));
    } else {
        auto call = [handler = std::move(handler), why = std::move(why), value = std::move(value)]() mutable {
            clear_slot_of(handler);
            std::move(handler)(std::move(why), value ? std::move(*value) : T());
        };
        post_soon(executor, std::move(call));
    }
}

template <class T, class Handler, class Guard>
task<> deliver(task<T> work, Handler handler, asked_until_then asking, boost::asio::any_io_executor executor, Guard answering) {
    // The host's run() does not return while the task goes on, nor does that of the handler.
    const boost::asio::any_io_executor busy = boost::asio::prefer(executor, boost::asio::execution::outstanding_work.tracked);
    std::exception_ptr why;
    std::optional<value_of<T>> value;
    auto child = with_cancel(std::move(work), asking.token());
    try {
        if constexpr (std::is_void_v<T>)
            co_await std::move(child);
        else
            value.emplace(co_await std::move(child));
    } catch (...) {
        why = std::current_exception();
    }
    asking.end();
    call_soon<T>(std::move(handler), executor, std::move(why), std::move(value));
    answering.reset();
}

template <class T>
struct start_async {
    template <class Handler>
    void operator()(Handler handler, event_loop* loop, task<T> work) const {
        if (auto why = foreignness_of(*loop)) return call_soon<T>(std::move(handler), executor_of(*loop), std::move(why), std::nullopt);
        const auto request = std::make_shared<asked>(*loop);
        asked_until_then asking(request);
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected())
            slot.assign([request](boost::asio::cancellation_type) { request->request(); });
        const boost::asio::any_io_executor executor = executor_of(*loop);
        auto answering = boost::asio::make_work_guard(handler, executor);
        auto all = deliver<T, Handler>(std::move(work), std::move(handler), std::move(asking), executor, std::move(answering));
        residents_of(*loop).start(all.release());
    }
};

}  // namespace tutti::detail
