// What can follow co_await: the awaiter that it gives, and what comes out.
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// What has no `operator co_await` is its own awaiter.
template <class Awaitable>
decltype(auto) awaiter_of(Awaitable&& what) {
    if constexpr (requires { static_cast<Awaitable&&>(what).operator co_await(); })
        return static_cast<Awaitable&&>(what).operator co_await();
    else if constexpr (requires { operator co_await(static_cast<Awaitable&&>(what)); })
        return operator co_await(static_cast<Awaitable&&>(what));
    else return static_cast<Awaitable&&>(what);
}

template <class Awaitable>
using awaiter_for = decltype(awaiter_of(std::declval<Awaitable>()));
template <class Awaitable>
using awaited = decltype(std::declval<awaiter_for<Awaitable>&>().await_resume());

/// Whether a coroutine with such a promise can await it.
template <class Awaitable, class Promise>
concept awaitable_by = requires(std::remove_reference_t<awaiter_for<Awaitable>>& awaiter, std::coroutine_handle<Promise> who) {
    awaiter.await_ready();
    awaiter.await_suspend(who);
    awaiter.await_resume();
};

}  // namespace detail
}  // namespace tutti
