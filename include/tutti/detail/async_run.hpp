// Starts a task by an Asio completion token: the task's end becomes a call of the handler on the handler's executor.
#pragma once

#include <tutti/detail/asio_host.hpp>
#include <tutti/detail/bound_task.hpp>
#include <tutti/detail/compiler.hpp>
#include <tutti/detail/completion.hpp>
#include <tutti/detail/task_group.hpp>
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
#include <optional>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// Returns the tasks that were started from outside of any task; they belong to the loop.
TUTTI_API task_group& residents_of(event_loop& loop);
/// Returns null, or the reason why nothing can be started: this process inherited the loop by a fork.
TUTTI_API std::exception_ptr foreignness_of(event_loop& loop);

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

/// Runs `call` on the executor; at once, on this thread, if the executor can do that.
template <class Executor, class Call>
void post_soon(const Executor& executor, Call call) {
    if constexpr (runs_at_once<Executor>) boost::asio::dispatch(executor, std::move(call));
    else boost::asio::post(executor, std::move(call));
}

/// Clears the handler's cancellation slot, on the handler's executor, where the slot may be triggered meanwhile.
template <class Handler>
void clear_slot_of(const Handler& handler) {
    if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected()) slot.clear();
}

template <class Handler>
inline constexpr bool names_executor = !std::same_as<handler_executor<Handler>, no_executor>;

template <class Handler>
handler_executor<Handler> executor_named_by(const Handler& handler) {
    return boost::asio::associated_executor<Handler, no_executor>::get(handler, no_executor());
}

/// Returns the call of a handler at the end of its task.
template <class T, class Handler>
auto call_of(Handler handler, std::exception_ptr why, [[maybe_unused]] std::optional<value_of<T>> value) {
    if constexpr (std::is_void_v<T>)
        return [handler = std::move(handler), why = std::move(why)]() mutable {
            clear_slot_of(handler);
            std::move(handler)(std::move(why));
        };
    else
        return [handler = std::move(handler), why = std::move(why), value = std::move(value)]() mutable {
            clear_slot_of(handler);
            std::move(handler)(std::move(why), value ? std::move(*value) : T());
        };
}

template <class Call>
class call_in_queue final : public queued_call {
public:
    explicit call_in_queue(Call what) : what_(std::move(what)) {}
    void run() override { what_(); }

private:
    Call what_;
};

/// Calls the handler on its executor; if it has none, on the executor of the loop's host; without a host, on the loop.
template <class T, class Handler>
void call_soon(event_loop& loop, Handler handler, std::exception_ptr why, std::optional<value_of<T>> value) {
    if constexpr (names_executor<Handler>) {
        const auto executor = executor_named_by(handler);
        post_soon(executor, call_of<T>(std::move(handler), std::move(why), std::move(value)));
    } else {
        auto call = call_of<T>(std::move(handler), std::move(why), std::move(value));
        if (auto* const host = asio_host_of(loop)) boost::asio::post(host->executor(), std::move(call));
        else if (foreignness_of(loop)) call();  // the loop will never have a turn here
        else queue_call(loop, std::make_unique<call_in_queue<decltype(call)>>(std::move(call)));
    }
}

/// While it lives, run() does not return on the host, nor on the executor that the handler names.
template <class Handler>
class busy_until_told {
public:
    busy_until_told(event_loop& loop, const Handler& handler) : answering_(guard_of(handler)) {
        if (auto* const host = asio_host_of(loop))
            host_ = boost::asio::prefer(host->executor(), boost::asio::execution::outstanding_work.tracked);
    }

private:
    static auto guard_of([[maybe_unused]] const Handler& handler) {
        if constexpr (names_executor<Handler>) return boost::asio::make_work_guard(executor_named_by(handler));
        else return no_executor();
    }

    decltype(guard_of(std::declval<const Handler&>())) answering_;
    boost::asio::any_io_executor host_;
};

template <class T, class Handler>
task<> deliver(event_loop* loop, task<T> work, Handler handler, asked_until_then asking, std::unique_ptr<busy_until_told<Handler>> busy) {
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
    call_soon<T>(*loop, std::move(handler), std::move(why), std::move(value));
    busy.reset();
}

template <class T>
struct start_async {
    template <class Handler>
    void operator()(Handler handler, event_loop* loop, task<T> work) const {
        if (auto why = foreignness_of(*loop)) return call_soon<T>(*loop, std::move(handler), std::move(why), std::nullopt);
        const auto request = std::make_shared<asked>(*loop);
        asked_until_then asking(request);
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected())
            slot.assign([request](boost::asio::cancellation_type) { request->request(); });
        auto busy = std::make_unique<busy_until_told<Handler>>(*loop, handler);
        auto all = deliver<T, Handler>(loop, std::move(work), std::move(handler), std::move(asking), std::move(busy));
        residents_of(*loop).start(all.release());
    }
};

}  // namespace detail
}  // namespace tutti
