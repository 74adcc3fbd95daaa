// What a future and the engine that will end it share: done or not, the failure, who waits, and how many still look at it.
#pragma once

#include <tutti/detail/runnable.hpp>
#include <tutti/result.hpp>

#include <atomic>
#include <cstdint>

namespace tutti::detail {

/// Ends exactly once, by `finish`. Two references to begin with: the future's and the engine's.
class future_state {
public:
    future_state(const future_state&) = delete;
    future_state& operator=(const future_state&) = delete;

    // For the engine. Any thread.
    void finish() noexcept;
    void finish(tutti::failure why) noexcept;

    // For the one who waits. Any thread, one waiter.
    bool done() const noexcept { return waiter_.load(std::memory_order_acquire) == done_mark(); }
    /// Calls waiter.run() when done, on the thread that finishes; false, and never calls it, when it is done already.
    bool wait(runnable& waiter) noexcept;
    /// Takes the waiter back; false when it has been or is about to be called.
    bool stop_waiting(runnable& waiter) noexcept;
    /// Null when it ended well. Only when done.
    const tutti::failure* why() const noexcept { return failed_ ? &*failure_ : nullptr; }

    /// The future asks for the end; it still ends once, by `finish`.
    virtual void cancel() noexcept = 0;
    /// The future is gone before the end: when this returns nothing touches the caller's memory any more.
    virtual void abandon() noexcept = 0;

    void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) recycle();
    }

protected:
    future_state() = default;
    ~future_state() = default;
    /// Before the object is used again.
    void renew() noexcept;

private:
    /// The last reference is gone.
    virtual void recycle() noexcept = 0;
    static runnable* done_mark() noexcept;

    std::atomic<runnable*> waiter_{nullptr};
    std::atomic<std::uint32_t> references_{2};
    bool failed_ = false;
    std::optional<tutti::failure> failure_;
};

}  // namespace tutti::detail
