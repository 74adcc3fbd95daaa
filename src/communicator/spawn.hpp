// Runs a task on a context's loop for somebody on another loop, who gets a future.
#pragma once

#include "communicator/home.hpp"

#include <tutti/detail/future_source.hpp>
#include <tutti/future.hpp>

#include <optional>

namespace tutti::detail {

template <class T>
task<> fulfil(task<T> work, future_source<T> source) {
    std::optional<failure> why;
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(work);
            source.set();
        } else {
            source.set(co_await std::move(work));
        }
    } catch (const failure& caught) {
        why = caught;
    } catch (const std::exception& caught) {
        why = failure(error::system, caught.what());
    }
    if (why) source.fail(*why);
}

/// `work` runs in `home`'s background. When the context has been stopped the future ends with error::closed.
template <class T>
future<T> spawn(context::state& home, task<T> work) {
    auto ends = make_future<T>();
    auto started = std::make_shared<task<>>(fulfil(std::move(work), std::move(ends.second)));
    const bool sent = home.send([&home, started] { home.work().start(std::move(*started)); });
    (void)sent;  // the source is gone with the task then, and ends the future
    return std::move(ends.first);
}

}  // namespace tutti::detail
