// State shared by a future and the engine that ends it: done or not, the failure, the waiter, and the number of references.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/detail/explanation.hpp>
#include <tutti/detail/runnable.hpp>
#include <tutti/result.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace detail {

/// Ends exactly once, by one of the forms of `finish`. It starts with two references, the future's and the engine's. The engine gives its
/// own back with `release`, after finishing; the future with `drop`.
class future_state {
public:
    future_state(const future_state&) = delete;
    future_state& operator=(const future_state&) = delete;

    // For the engine, while it still holds its reference. Any thread.
    void finish() noexcept;
    void finish(tutti::failure why) noexcept;
    /// Finishes without a failure if nothing waits yet. Otherwise returns false and changes nothing.
    bool finish_unless_awaited() noexcept;

    // For the one waiter. Any thread.
    bool done() const noexcept { return waiter_.load(std::memory_order_acquire) == done_mark(); }
    /// Calls waiter.run() when done, on the thread that finishes. Returns false if it is done already; then run() is never called.
    bool wait(runnable& waiter) noexcept;
    /// Takes the waiter back; returns false if it has been or is about to be called.
    bool stop_waiting(runnable& waiter) noexcept;
    /// Returns when waiter.run() has returned, after stop_waiting has returned false. Never called from inside waiter.run().
    void settle() const noexcept;
    /// For the waiter, when it has seen the outcome.
    void look() noexcept { looked_ = true; }
    /// For the engine, when the future is gone: returns whether the outcome was seen.
    bool looked() const noexcept { return looked_; }
    /// Returns the failure, or null after success. Only when done.
    const tutti::failure* why() const noexcept { return failure_ ? &*failure_ : nullptr; }

    /// Cancels on behalf of the future; the state still ends once, by `finish`. May be called more than once, and too late.
    virtual void cancel() noexcept = 0;
    /// Drops the operation on behalf of a future that is destroyed before the end. After it returns, the caller's memory is no longer
    /// touched. May be called too late, but once.
    virtual void abandon() noexcept = 0;

    /// Adds a line for the explanation of a waiting task.
    virtual void explain(explanation& out) const { out.line("a future"); }

    void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) recycle();
    }
    /// Ends the future: abandons an operation that is not done, and gives the reference back.
    void drop() noexcept {
        if (!done()) {
            if (foreign()) return;
            abandon();
        }
        release();
    }
    /// Returns whether the parent process made it before a fork. If it is not done, it will not end in this process, and must not be
    /// touched.
    bool foreign() const noexcept;
    /// Returns error::closed, for a caller that would wait for such a state.
    tutti::failure foreignness() const;

protected:
    future_state() noexcept;
    ~future_state() = default;
    /// Prepares the object for its next use; the caller holds the only pointer to it.
    void renew() noexcept;

private:
    /// Is called when the last reference is gone.
    virtual void recycle() noexcept = 0;
    /// Returns an address that no object has, equal in all parts of a program, however they hide their symbols.
    static runnable* done_mark() noexcept { return reinterpret_cast<runnable*>(alignof(runnable)); }

    std::atomic<runnable*> waiter_{nullptr};  // null, then perhaps a waiter (and back), then done_mark for good
    std::atomic<std::uint32_t> references_{2};
    std::atomic<bool> settled_{false};        // the waiter that `finish` took has returned
    bool looked_ = false;
    const std::uint32_t process_;             // the process that made it
    std::optional<tutti::failure> failure_;   // written before waiter_ becomes done_mark
};

/// A state that ends with a value.
template <class T>
class value_state : public future_state {
public:
    using future_state::finish;
    void finish(T value) noexcept {
        value_.emplace(std::move(value));
        future_state::finish();
    }
    /// Returns the value, once, when done and `why()` is null.
    T take() { return std::move(*value_); }

protected:
    value_state() = default;
    ~value_state() = default;
    void renew() noexcept {
        value_.reset();
        future_state::renew();
    }

private:
    std::optional<T> value_;
};

template <class T>
struct state_for {
    using type = value_state<T>;
};
template <>
struct state_for<void> {
    using type = future_state;
};
/// The state of a future<T>.
template <class T>
using state_of = typename state_for<T>::type;

/// The future's reference; dropped by its last holder.
class state_reference {
public:
    state_reference() noexcept = default;
    explicit state_reference(future_state& state) noexcept : state_(&state) {}
    state_reference(state_reference&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    state_reference& operator=(state_reference&& other) noexcept {
        if (auto* old = std::exchange(state_, std::exchange(other.state_, nullptr))) old->drop();
        return *this;
    }
    ~state_reference() {
        if (state_) state_->drop();
    }
    future_state* get() const noexcept { return state_; }
    future_state* operator->() const noexcept { return state_; }
    explicit operator bool() const noexcept { return state_; }

private:
    future_state* state_ = nullptr;
};

/// Records that code on this thread's loop has seen a failure.
TUTTI_API void note_told(const tutti::failure& why) noexcept;

/// Returns the value of a state that is done; throws its failure.
template <class T>
T take(future_state& state) {
    state.look();
    if (const auto* why = state.why()) {
        note_told(*why);
        throw tutti::failure(*why);
    }
    if constexpr (!std::is_void_v<T>) return static_cast<value_state<T>&>(state).take();
}
template <class T>
result<T> take_result(future_state& state) {
    state.look();
    if (const auto* why = state.why()) {
        note_told(*why);
        return *why;
    }
    if constexpr (std::is_void_v<T>) return {};
    else return static_cast<value_state<T>&>(state).take();
}

}  // namespace detail
}  // namespace tutti
