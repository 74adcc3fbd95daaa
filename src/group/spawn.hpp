// Runs a task on a context's loop for a caller on another loop or thread, which gets a future.
#pragma once

#include "group/context_state.hpp"

#include <tutti/cancel.hpp>
#include <tutti/detail/bound_task.hpp>
#include <tutti/detail/future_source.hpp>
#include <tutti/future.hpp>

#include <memory>

namespace tutti::detail {

template <class T>
task<> fulfil(task<T> work, future_source<T> source) {
    auto ending = outcome_of(std::move(work), error::system);
    result<T> told = co_await std::move(ending);
    source.end_with(std::move(told));
}

/// Runs `work` in the context's background to its end, even if the future is dropped. Once the context has stopped, the future ends with
/// error::cancelled.
template <class T>
future<T> spawn(context_state& context, task<T> work) {
    if (!context.made().here()) return failed_future<T>(context.made().foreign("context"));
    auto ends = make_future<T>();
    auto started = std::make_shared<task<>>(fulfil(std::move(work), std::move(ends.second)));
    const bool sent = context.send([&context, started] { context.work().start(std::move(*started)); });
    (void)sent;  // if not, the source dies with the task and ends the future
    return std::move(ends.first);
}

template <class T>
task<> fulfil_or_end(task<T> work, future_source<T> source, std::shared_ptr<cancel_source>) {  // held for as long as the task
    auto working = fulfil(std::move(work), std::move(source));
    co_await std::move(working);
}

/// Runs `work` likewise, but cancels it when the future is cancelled or dropped.
template <class T>
future<T> spawn_cancellable(context_state& context, task<T> work) {
    if (!context.made().here()) return failed_future<T>(context.made().foreign("context"));
    auto asked = std::make_shared<cancel_source>(context.loop());
    auto ends = make_future<T>([there = context.weak_from_this(), asking = std::weak_ptr(asked)] {
        if (const auto here = there.lock())
            (void)here->send([asking] {
                if (const auto known = asking.lock()) known->request();
            });
    });
    auto started = std::make_shared<task<>>(fulfil_or_end(std::move(work), std::move(ends.second), asked));
    const bool sent = context.send([&context, started, asking = std::weak_ptr(asked)] {
        if (const auto known = asking.lock()) context.work().start(std::move(*started), known->token());
    });
    (void)sent;
    return std::move(ends.first);
}

}  // namespace tutti::detail
