// How a task is started by an Asio completion token: the task's end becomes a call of the handler on the handler's executor.
#pragma once

#include <tutti/detail/family.hpp>
#include <tutti/when_all.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <exception>
#include <memory>
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

/// While it lives, Asio's cancellation of a handler asks a source.
class asked_by_slot {
public:
    asked_by_slot(boost::asio::cancellation_slot slot, cancel_source& source) : slot_(slot) {
        if (slot_.is_connected()) slot_.assign([&source](boost::asio::cancellation_type) { source.request(); });
    }
    asked_by_slot(const asked_by_slot&) = delete;
    asked_by_slot& operator=(const asked_by_slot&) = delete;
    ~asked_by_slot() {
        if (slot_.is_connected()) slot_.clear();
    }

private:
    boost::asio::cancellation_slot slot_;
};

struct asked {
    asked(event_loop& loop, boost::asio::cancellation_slot slot) : source(loop), by_slot(slot, source) {}
    cancel_source source;
    asked_by_slot by_slot;
};

template <class T, class Handler>
void call_soon(Handler handler, const boost::asio::any_io_executor& fallback, std::exception_ptr why,
               [[maybe_unused]] std::optional<value_of<T>> value) {
    const auto executor = boost::asio::get_associated_executor(handler, fallback);
    if constexpr (std::is_void_v<T>) {
        auto call = [handler = std::move(handler), why = std::move(why)]() mutable { std::move(handler)(std::move(why)); };
        boost::asio::post(executor, std::move(call));
    } else {
        auto call = [handler = std::move(handler), why = std::move(why), value = std::move(value)]() mutable {
            std::move(handler)(std::move(why), value ? std::move(*value) : T());
        };
        boost::asio::post(executor, std::move(call));
    }
}

template <class T, class Handler>
task<> deliver(task<T> work, Handler handler, std::unique_ptr<asked> request, boost::asio::any_io_executor executor) {
    // The host's run() does not return while the task goes on.
    const boost::asio::any_io_executor busy = boost::asio::prefer(executor, boost::asio::execution::outstanding_work.tracked);
    std::exception_ptr why;
    std::optional<value_of<T>> value;
    auto child = with_cancel(std::move(work), request->source.token());
    try {
        if constexpr (std::is_void_v<T>)
            co_await std::move(child);
        else
            value.emplace(co_await std::move(child));
    } catch (...) {
        why = std::current_exception();
    }
    request.reset();
    call_soon<T>(std::move(handler), executor, std::move(why), std::move(value));
}

template <class T>
struct start_async {
    template <class Handler>
    void operator()(Handler handler, event_loop* loop, task<T> work) const {
        auto request = std::make_unique<asked>(*loop, boost::asio::get_associated_cancellation_slot(handler));
        auto all = deliver<T, Handler>(std::move(work), std::move(handler), std::move(request), executor_of(*loop));
        residents_of(*loop).start(all.release());
    }
};

}  // namespace tutti::detail
