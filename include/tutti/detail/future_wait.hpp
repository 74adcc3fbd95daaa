// Waits of a coroutine or a thread for a future_state. The awaiter lives in the waiting frame, so awaiting allocates nothing.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/detail/future_state.hpp>
#include <tutti/detail/promise.hpp>
#include <tutti/detail/tokens.hpp>

#include <coroutine>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// Throws error::invalid_argument if the future is empty or was awaited before, and error::closed if it cannot end in this process.
TUTTI_API void check_awaitable(const state_reference& state);
/// Replaces such a state by one that has failed so, for the handler of a token.
TUTTI_API state_reference told_if_empty(state_reference state);
/// Blocks the calling thread, which must not run an event_loop.
TUTTI_API void block(const state_reference& state);
TUTTI_API bool block_for(const state_reference& state, duration time);
/// Is called before a coroutine is suspended. If this thread's loop helps another one and is otherwise idle, it runs that loop a few times.
/// Returns whether `end` is done.
TUTTI_API bool hasten(const future_state& end) noexcept;

/// The part of an awaiter that does not depend on the value.
class future_wait : private cancel_callback {
public:
    explicit future_wait(state_reference state) noexcept : state_(std::move(state)) {}
    future_wait(const future_wait&) = delete;
    future_wait& operator=(const future_wait&) = delete;
    bool await_ready() const noexcept { return !state_ || state_->done() || hasten(*state_.get()); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> caller) noexcept {
        caller_ = caller;
        if constexpr (task_promise<Promise>) {
            caller.promise().waits_for(*this);
            return start(caller.promise());
        } else {
            return start(event_loop::current());
        }
    }
    void explain(explanation& out) const { state_->explain(out); }

protected:
    /// The frame may also be destroyed during the wait; then on the thread on which it would have resumed.
    ~future_wait();

    future_state& state() const {
        check_awaitable(state_);
        return *state_.get();
    }
    state_reference take_state() { return told_if_empty(std::move(state_)); }

private:
    bool start(const promise_base& task) noexcept;
    bool start(event_loop* loop) noexcept;
    void cancelled() noexcept override { state_->cancel(); }
    void finished() noexcept;  // on the thread that finishes
    void resume() noexcept;    // on the loop

    state_reference state_;
    std::coroutine_handle<> caller_;
    event_loop* loop_ = nullptr;
    bool waiting_ = false;
    callback<&future_wait::finished> finished_{*this};
    callback<&future_wait::resume> resume_{*this};
};

template <class T>
class [[nodiscard]] future_awaiter final : public future_wait {
public:
    using future_wait::future_wait;
    T await_resume() { return take<T>(state()); }
};

template <class T>
class [[nodiscard]] future_result_awaiter final : public future_wait {
public:
    using future_wait::future_wait;
    result<T> await_resume() { return take_result<T>(state()); }

    /// Calls `token` with a result<T>; otherwise like a future's.
    template <served_token<ends_with_result<T>> Token>
    decltype(auto) operator()(Token&& token) {
        return completion<ends_with_result<T>, Token>::start(take_state(), static_cast<Token&&>(token));
    }
    template <unserved_token<result<T>> Token>
    auto operator()(Token&&) {
        ask_for_asio_header<Token>();
    }
};

}  // namespace detail
}  // namespace tutti
