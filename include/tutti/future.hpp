// The handle on a collective that is already under way.
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

/// Takes a result, or a value, or nothing for void.
template <class Function, class T>
concept continuation_of = std::invocable<Function&, result<T>> ||
                          (std::is_void_v<T> ? std::invocable<Function&> : std::is_invocable_v<Function&, T>);
template <class T, class Function>
auto outcome_of() {
    if constexpr (std::invocable<Function&, result<T>>) return std::type_identity<std::invoke_result_t<Function&, result<T>>>();
    else if constexpr (std::is_void_v<T>) return std::type_identity<std::invoke_result_t<Function&>>();
    else return std::type_identity<std::invoke_result_t<Function&, T>>();
}
/// What it returns then.
template <class T, class Function>
using continued = std::decay_t<typename decltype(outcome_of<T, Function>())::type>;

}  // namespace detail

/// Asks for the end of an operation while somebody else awaits its future. Copies ask for the same end. An operation whose end has come keeps
/// its place in its communicator's pool until the last canceller is gone, so another call allocates one; nothing else waits for that.
class canceller {
public:
    /// Asks nothing.
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

    /// From any thread, as often as you like. Like future::cancel; does nothing after the end.
    void cancel() const noexcept {
        if (in_reach() && !state_->done()) state_->cancel();
    }

    /// For the library.
    explicit canceller(detail::future_state* state) noexcept : state_(state) {
        if (state_) state_->keep();
    }

private:
    /// In a process that was forked since, nothing is touched that has not ended.
    bool in_reach() const noexcept { return state_ && (state_->done() || !state_->foreign()); }

    detail::future_state* state_ = nullptr;
};

/// An operation that was issued when you got this. Awaited once, from wherever you are:
///
///     co_await std::move(f);               // any coroutine; throws `failure`. In a task it resumes on the task's loop
///     co_await as_result(std::move(f));    // the same, does not throw for what it waited for
///     std::move(f)(token);                 // any Asio completion token; include <tutti/asio.hpp>
///     f.get();                             // a plain thread; blocks
///     f.then(function);                    // a callback, and another future for what it returns
///     fiber::await(std::move(f));          // a call stack without coroutines; include <tutti/fiber.hpp>
///
/// Dropping it before the end gives the operation up: the buffers are no longer touched when the destructor returns.
/// A failure that nobody looks at is not reported; the communicator it happened in stays failed and tells the next caller.
template <class T = void>
class [[nodiscard]] future {
public:
    using value_type = T;

    /// Empty; only to be assigned to.
    future() noexcept = default;
    /// Takes over the reference that the state was made with for its future.
    explicit future(detail::state_of<T>& state) noexcept : state_(state) {}

    /// Whether there is something to await.
    bool valid() const noexcept { return static_cast<bool>(state_); }
    /// Whether the operation has ended, well or not.
    bool ready() const noexcept { return state_ && state_->done(); }
    /// Asks for the end. The future still ends once: with error::cancelled, or with its result when that was quicker.
    void cancel() noexcept {
        if (state_) state_->cancel();
    }
    /// Asks for the end later, when this future may be awaited, and so empty: `canceller stop = f.canceller();`
    tutti::canceller canceller() const noexcept { return tutti::canceller(state_.get()); }

    /// Blocks this thread until the end; the value, or throws `failure`. On an event loop's thread it throws error::invalid_argument
    /// instead of waiting, since the work to be waited for may need that very thread; the future stays as it was. Of the host's thread of a guest
    /// loop nobody can tell: blocking there would be for ever.
    T get() {
        detail::block(state_);
        auto state = std::move(state_);
        return detail::take<T>(*state.get());
    }
    /// Blocks this thread until the end or until `time` is over; whether it has ended. Throws like get() on an event loop's thread.
    bool wait_for(duration time) const { return detail::block_for(state_, time); }

    /// Outside tutti::task: resumes on the event_loop that this thread runs; without one, on the thread that ends the operation.
    auto operator co_await() && noexcept { return detail::future_awaiter<T>(take_state()); }
    auto operator co_await() & noexcept { return detail::future_awaiter<T>(take_state()); }

    /// Calls `token` with (std::exception_ptr) or (std::exception_ptr, T), on its executor, through its allocator, and listening to its
    /// cancellation slot. A handler without executor runs on the event_loop that this thread runs; without one, on the thread that ends
    /// the operation. Of an empty future it is told error::invalid_argument. Needs <tutti/asio.hpp>.
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

    /// Calls `function` at the end, and gives its value as another future. `function` takes a result<T>; or it takes a T (nothing for
    /// void), then it is called for a value only, and a failure passes by it. It runs on the event_loop that this thread runs, which must
    /// outlive the wait; without one, on the thread that ends the operation, or here if that has ended. A failure that it throws becomes
    /// the other future's; any other exception does as error::aborted. Cancelling the other future cancels this operation, of whose end the
    /// function still hears. Dropping it drops this operation: the function is not called any more, unless it runs just then. Allocates.
    template <detail::continuation_of<T> Function>
    auto then(Function function) -> future<detail::continued<T, Function>>;

    /// For the library: whoever takes the state waits for it instead.
    detail::state_reference take_state() noexcept { return std::move(state_); }

private:
    detail::state_reference state_;
};

/// `co_await as_result(f)` is a result<T> and does not throw, but for a future that is empty or was awaited before.
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
