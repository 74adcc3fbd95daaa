// What a future and the engine that will end it share: done or not, the failure, who waits, and how many still look at it.
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

/// Ends exactly once, by `finish` in one of its forms. Two references to begin with: the future's and the engine's; each is given back with
/// `release`, the engine's after that, the future's with `drop`.
class future_state {
public:
    future_state(const future_state&) = delete;
    future_state& operator=(const future_state&) = delete;

    // For the engine. Any thread; it still holds its reference while it calls.
    void finish() noexcept;
    void finish(tutti::failure why) noexcept;
    /// The same, well, if nobody waits yet. False when somebody does, and nothing has changed.
    bool finish_unless_awaited() noexcept;

    // For the one who waits. Any thread, one waiter.
    bool done() const noexcept { return waiter_.load(std::memory_order_acquire) == done_mark(); }
    /// Calls waiter.run() when done, on the thread that finishes; false, and never calls it, when it is done already.
    bool wait(runnable& waiter) noexcept;
    /// Takes the waiter back; false when it has been or is about to be called.
    bool stop_waiting(runnable& waiter) noexcept;
    /// After stop_waiting said false: returns when waiter.run() has returned. Never called from inside waiter.run().
    void settle() const noexcept;
    /// For the one who waits, and has heard how it ended.
    void look() noexcept { looked_ = true; }
    /// For the engine, when the future is gone.
    bool looked() const noexcept { return looked_; }
    /// Null when it ended well. Only when done.
    const tutti::failure* why() const noexcept { return failure_ ? &*failure_ : nullptr; }

    /// The future asks for the end; it still ends once, by `finish`. May come more than once, and too late.
    virtual void cancel() noexcept = 0;
    /// The future is gone before the end: when this returns nothing touches the caller's memory any more. May come too late, once.
    virtual void abandon() noexcept = 0;

    /// One line for those who ask what a task waits for.
    virtual void explain(explanation& out) const { out.line("a future"); }

    void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) recycle();
    }
    /// The future's end: abandons what is not done, and gives the reference back.
    void drop() noexcept {
        if (!done()) {
            if (foreign()) return;
            abandon();
        }
        release();
    }
    /// Whether it is of the process that forked this one: if it is not done, nobody here will end it, and it is not to be touched.
    bool foreign() const noexcept;
    /// error::closed, for whoever would wait for it then.
    tutti::failure foreignness() const;

protected:
    future_state() noexcept;
    ~future_state() = default;
    /// Before the object is used again; nobody else knows it at that time.
    void renew() noexcept;

private:
    /// The last reference is gone.
    virtual void recycle() noexcept = 0;
    /// Nobody's address, and the same in all parts of a program, however they hide their symbols.
    static runnable* done_mark() noexcept { return reinterpret_cast<runnable*>(alignof(runnable)); }

    std::atomic<runnable*> waiter_{nullptr};  // null, then perhaps a waiter (and back), then done_mark for good
    std::atomic<std::uint32_t> references_{2};
    std::atomic<bool> settled_{false};        // the waiter that `finish` took has returned
    bool looked_ = false;
    const std::uint32_t process_;             // that has made it
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
    /// Once, when done and `why()` is null.
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
/// What a future<T> is made of.
template <class T>
using state_of = typename state_for<T>::type;

/// The future's reference; whoever holds it last drops it.
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

/// That somebody on this thread's loop hears of a failure.
TUTTI_API void note_told(const tutti::failure& why) noexcept;

/// The value of a state that is done; throws when it failed.
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
