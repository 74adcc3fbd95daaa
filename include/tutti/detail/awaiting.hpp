// Operands of co_await: the awaiter of one, and the type of its result.
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// Returns the awaiter of `what`. Without `operator co_await` it is `what` itself.
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

/// Is true if a coroutine with such a promise can await it.
template <class Awaitable, class Promise>
concept awaitable_by = requires(std::remove_reference_t<awaiter_for<Awaitable>>& awaiter, std::coroutine_handle<Promise> who) {
    awaiter.await_ready();
    awaiter.await_suspend(who);
    awaiter.await_resume();
};

}  // namespace detail
}  // namespace tutti
