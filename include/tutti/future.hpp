// The handle on an operation that is under way.
#pragma once

#include <tutti/detail/future_wait.hpp>
#include <tutti/task.hpp>
#include <tutti/types.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// A function that takes a result<T>, a T, or nothing for void.
template <class Function, class T>
concept continuation_of = std::invocable<Function&, result<T>> ||
                          (std::is_void_v<T> ? std::invocable<Function&> : std::is_invocable_v<Function&, T>);
template <class T, class Function>
auto outcome_of() {
    if constexpr (std::invocable<Function&, result<T>>) return std::type_identity<std::invoke_result_t<Function&, result<T>>>();
    else if constexpr (std::is_void_v<T>) return std::type_identity<std::invoke_result_t<Function&>>();
    else return std::type_identity<std::invoke_result_t<Function&, T>>();
}
/// The type that such a function returns.
template <class T, class Function>
using continued = std::decay_t<typename decltype(outcome_of<T, Function>())::type>;

}  // namespace detail

/// Cancels an operation while another coroutine or thread awaits its future. Copies cancel the same operation. The operation keeps its
/// place in its communicator's pool until the last canceller is gone, so another call may allocate a new one; nothing else waits for that.
class canceller {
public:
    /// Empty: cancels nothing.
    canceller() noexcept = default;
    canceller(const canceller& other) noexcept : canceller(other.state_) {}
    canceller(canceller&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    canceller& operator=(canceller other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~canceller() {
        if (in_reach()) state_->release();
    }

    /// Does what future::cancel does; nothing after the end. Any thread, any number of times.
    void cancel() const noexcept {
        if (in_reach() && !state_->done()) state_->cancel();
    }

    /// For the library.
    explicit canceller(detail::future_state* state) noexcept : state_(state) {
        if (state_) state_->keep();
    }

private:
    /// Returns false in a process forked later, unless the operation has ended: nothing else may be touched there.
    bool in_reach() const noexcept { return state_ && (state_->done() || !state_->foreign()); }

    detail::future_state* state_ = nullptr;
};

/// An operation that was issued before this object was returned. It is awaited once, in any of these ways:
///
///     co_await std::move(f);               // any coroutine; throws `failure`. A task resumes on its own loop
///     co_await as_result(std::move(f));    // does not throw for a failure of the operation
///     std::move(f)(token);                 // any Asio completion token; include <tutti/asio.hpp>
///     f.get();                             // a plain thread; blocks
///     f.then(function);                    // a callback; returns a future of the function's result
///     fiber::await(std::move(f));          // a call stack without coroutines; include <tutti/fiber.hpp>
///
/// Dropping it before the end gives the operation up: when the destructor returns, the buffers are no longer touched. A failure that is not
/// read is not reported, but its communicator stays failed, so the next call reports it.
template <class T = void>
class [[nodiscard]] future {
public:
    using value_type = T;

    /// Empty; only to be assigned to.
    future() noexcept = default;
    /// Takes over the reference that the state was made with for its future.
    explicit future(detail::state_of<T>& state) noexcept : state_(state) {}

    /// Returns whether there is something to await.
    bool valid() const noexcept { return static_cast<bool>(state_); }
    /// Returns whether the operation has ended, well or not.
    bool ready() const noexcept { return state_ && state_->done(); }
    /// Cancels the operation. The future still ends once: with error::cancelled, or with a result that came first.
    void cancel() noexcept {
        if (state_) state_->cancel();
    }
    /// Returns a handle that cancels later, when this future has been awaited and is empty: `canceller stop = f.canceller();`
    tutti::canceller canceller() const noexcept { return tutti::canceller(state_.get()); }

    /// Blocks this thread until the end; returns the value or throws `failure`. On an event loop's thread it throws error::invalid_argument
    /// without waiting, since the operation may need that thread; the future stays as it was. The host's thread of a guest loop is not
    /// recognized: get() there may block forever.
    T get() {
        detail::block(state_);
        auto state = std::move(state_);
        return detail::take<T>(*state.get());
    }
    /// Blocks this thread until the end or for `time`; returns whether the operation has ended. Throws like get() on an event loop's
    /// thread.
    bool wait_for(duration time) const { return detail::block_for(state_, time); }

    /// Outside tutti::task it resumes on the event_loop that this thread runs; without one, on the thread that ends the operation.
    auto operator co_await() && noexcept { return detail::future_awaiter<T>(take_state()); }
    auto operator co_await() & noexcept { return detail::future_awaiter<T>(take_state()); }

    /// Calls `token` with (std::exception_ptr) or (std::exception_ptr, T). It uses the token's executor, allocator and cancellation slot. A
    /// handler without an executor runs on the event_loop that this thread runs; without one, on the thread that ends the operation. For an
    /// empty future the handler gets error::invalid_argument. Needs <tutti/asio.hpp>.
    template <detail::served_token<detail::ends_with_exception<T>> Token>
    decltype(auto) operator()(Token&& token) {
        return detail::completion<detail::ends_with_exception<T>, Token>::start(detail::told_if_empty(take_state()),
                                                                                static_cast<Token&&>(token));
    }
    template <class Token>
        requires detail::unserved_token<Token, std::exception_ptr> || detail::unserved_token<Token, std::exception_ptr, T>
    auto operator()(Token&&) {
        detail::ask_for_asio_header<Token>();
    }

    /// Calls `function` at the end and returns a future of its value. If it takes a result<T>, it gets a failure too. If it takes a T
    /// (nothing for void), it is called for a value only; a failure skips it and goes to the new future. It runs on the event_loop that
    /// this thread runs, which must outlive the wait; without one, on the thread that ends the operation, or here if that has ended. A
    /// failure that it throws becomes the new future's; any other exception becomes error::aborted. Cancelling the new future cancels this
    /// operation, and the function still sees its end. Dropping it drops this operation, and the function is not called, unless it runs
    /// just then. Allocates.
    template <detail::continuation_of<T> Function>
    auto then(Function function) -> future<detail::continued<T, Function>>;

    /// For the library: the caller waits for the state in place of this future.
    detail::state_reference take_state() noexcept { return std::move(state_); }

private:
    detail::state_reference state_;
};

/// Makes `co_await as_result(f)` a result<T>. It throws only for a future that is empty or was awaited before.
template <class T>
[[nodiscard]] auto as_result(future<T>& from) {
    return detail::future_result_awaiter<T>(from.take_state());
}
template <class T>
[[nodiscard]] auto as_result(future<T>&& from) {
    return as_result(from);
}

}  // namespace tutti

#include <tutti/detail/continuation.hpp>
