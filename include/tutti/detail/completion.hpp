// Futures and tasks as Asio's asynchronous operations: every completion token works for a collective as it does for a socket.
#pragma once

#include <tutti/detail/bound_task.hpp>
#include <tutti/future.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>

namespace boost::asio {
template <typename Executor>
class basic_yield_context;
}

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

template <class Token>
inline constexpr bool is_yield_context = false;
template <class Executor>
inline constexpr bool is_yield_context<boost::asio::basic_yield_context<Executor>> = true;

inline std::exception_ptr exception_of(future_state& state) {
    state.look();
    const auto* why = state.why();
    if (why) note_told(*why);
    return why ? std::make_exception_ptr(tutti::failure(*why)) : nullptr;
}

/// Ends `f(token)` with (std::exception_ptr) or (std::exception_ptr, T); next to an exception stands a T().
template <class T>
struct ends_with_exception {
    using signature = void(std::exception_ptr, T);

    template <class Handler>
    static void call(Handler handler, state_reference state) {
        auto why = exception_of(*state.get());
        T value = why ? T() : static_cast<value_state<T>&>(*state.get()).take();
        state = {};
        std::move(handler)(why, std::move(value));
    }
};
template <>
struct ends_with_exception<void> {
    using signature = void(std::exception_ptr);

    template <class Handler>
    static void call(Handler handler, state_reference state) {
        auto why = exception_of(*state.get());
        state = {};
        std::move(handler)(why);
    }
};

/// Ends `as_result(f)(token)` with (result<T>).
template <class T>
struct ends_with_result {
    using signature = void(result<T>);

    template <class Handler>
    static void call(Handler handler, state_reference state) {
        auto ended = take_result<T>(*state.get());
        state = {};
        std::move(handler)(std::move(ended));
    }
};

/// Stands for the executor of a handler that names none.
struct no_executor {
    using executor_type = no_executor;
};

template <class Handler>
using handler_executor = typename boost::asio::associated_executor<Handler, no_executor>::type;

/// Is true of executor types that may run a call at once on any thread, such as the system's and that of `use_future`. Posting to them
/// would start the threads of Asio's pool, which stay.
template <class Executor>
concept runs_at_once = requires {
    requires !std::same_as<decltype(Executor::query(boost::asio::execution::blocking)), boost::asio::execution::blocking_t::never_t>;
};

/// Runs `call` on the executor; at once, on this thread, if the executor can do that.
template <class Executor, class Call>
void post_soon(const Executor& executor, Call call) {
    if constexpr (runs_at_once<Executor>) boost::asio::dispatch(executor, std::move(call));
    else boost::asio::post(executor, std::move(call));
}

/// Brings a completion to the place where its handler runs.
template <class Executor>
class completion_path {
public:
    template <class Handler>
    explicit completion_path(const Handler& handler)
        : work_(boost::asio::associated_executor<Handler, no_executor>::get(handler, no_executor())) {}

    /// `owner` holds this object, and has given it up when `travel` returns.
    template <class Owner>
    static void travel(Owner owner) {
        const Executor executor = owner->path().work_.get_executor();
        post_soon(executor, std::move(owner));
    }

private:
    boost::asio::executor_work_guard<Executor> work_;
};

template <>
class completion_path<no_executor> {
public:
    template <class Handler>
    explicit completion_path(const Handler&) noexcept : loop_(event_loop::current()) {}

    template <class Owner>
    static void travel(Owner owner) {
        if (auto* loop = owner->path().loop_) loop->post(owner.release()->on_loop());
        else owner();
    }

private:
    [[maybe_unused]] event_loop* loop_;
};

/// A handler that waits for its future, in memory from the handler's allocator.
template <class End, class Handler>
class completion_op final {
    using allocator_type = typename std::allocator_traits<
        boost::asio::associated_allocator_t<Handler>>::template rebind_alloc<completion_op>;

public:
    /// Owns the op on its way, and runs at the end of it.
    class owner {
    public:
        using allocator_type = completion_op::allocator_type;

        explicit owner(completion_op* op) noexcept : op_(op) {}
        owner(owner&& other) noexcept : op_(other.release()) {}
        owner& operator=(owner&&) = delete;
        ~owner() {
            if (op_) op_->destroy();
        }
        completion_op* operator->() const noexcept { return op_; }
        completion_op* release() noexcept { return std::exchange(op_, nullptr); }
        allocator_type get_allocator() const noexcept { return op_->allocator(); }
        void operator()() { release()->deliver(); }

    private:
        completion_op* op_;
    };

    static void start(Handler handler, state_reference state) {
        allocator_type allocator(boost::asio::get_associated_allocator(handler));
        auto* memory = std::allocator_traits<allocator_type>::allocate(allocator, 1);
        auto* op = new (memory) completion_op(std::move(handler), std::move(state));
        auto slot = boost::asio::get_associated_cancellation_slot(op->handler_);
        if (slot.is_connected())
            slot.assign([stop = canceller(op->state_.get())](boost::asio::cancellation_type) {
                const auto held = stop;  // the slot may be cleared inside of cancel()
                held.cancel();
            });
        if (!op->state_->wait(op->finished_)) op->finished();
    }

    completion_path<handler_executor<Handler>>& path() noexcept { return path_; }
    runnable& on_loop() noexcept { return on_loop_; }

private:
    completion_op(Handler handler, state_reference state)
        : path_(handler), handler_(std::move(handler)), state_(std::move(state)) {}

    allocator_type allocator() const noexcept { return allocator_type(boost::asio::get_associated_allocator(handler_)); }
    void destroy() noexcept { destroy(allocator()); }
    void destroy(allocator_type memory) noexcept {
        this->~completion_op();
        std::allocator_traits<allocator_type>::deallocate(memory, this, 1);
    }

    void finished() noexcept { decltype(path_)::travel(owner(this)); }
    void delivered() noexcept { deliver(); }
    void deliver() {
        boost::asio::get_associated_cancellation_slot(handler_).clear();
        // The memory is freed before the handler runs, so that the next operation can use it.
        [[maybe_unused]] const auto path = std::move(path_);
        auto handler = std::move(handler_);
        auto state = std::move(state_);
        destroy(allocator_type(boost::asio::get_associated_allocator(handler)));
        End::call(std::move(handler), std::move(state));
    }

    completion_path<handler_executor<Handler>> path_;
    Handler handler_;
    state_reference state_;
    callback<&completion_op::finished> finished_{*this};
    callback<&completion_op::delivered> on_loop_{*this};
};

/// Returns the state that the op of an operation waits for.
inline state_reference begun(state_reference state) { return state; }
template <class T>
state_reference begun(task<T> work) {
    return begin_bound(std::move(work)).take_state();
}

template <class End>
struct start_completion {
    template <class Handler, class Operation>
    void operator()(Handler&& handler, Operation what) const {
        completion_op<End, std::decay_t<Handler>>::start(static_cast<Handler&&>(handler), begun(std::move(what)));
    }
};

template <class End, class Token>
    requires boost::asio::completion_token_for<Token, typename End::signature>
struct completion<End, Token> {
    using signature = typename End::signature;

    template <class Operation>
    static decltype(auto) start(Operation what, Token&& token) {
        return boost::asio::async_initiate<Token, signature>(start_completion<End>(), token, std::move(what));
    }
};

template <class Token>
struct asio_header {};

/// Boost 1.81's spawn_handler rethrows an empty exception_ptr. So a stackful coroutine gets the result, and throws by itself.
template <class T, class Token>
    requires is_yield_context<std::decay_t<Token>>
struct completion<ends_with_exception<T>, Token> {
    using signature = typename ends_with_result<T>::signature;

    template <class Operation>
    static T start(Operation what, Token&& token) {
        auto ended = completion<ends_with_result<T>, Token>::start(std::move(what), static_cast<Token&&>(token));
        return std::move(ended).value();
    }
};

}  // namespace detail
}  // namespace tutti
