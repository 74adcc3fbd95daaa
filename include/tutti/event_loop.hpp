// Where work runs: one thread at a time, in order, with timers. Real time for programs, virtual time for tests.
#pragma once

#include <tutti/detail/runnable.hpp>
#include <tutti/detail/timer.hpp>
#include <tutti/types.hpp>

#include <memory>

namespace [[gnu::visibility("default")]] tutti {

namespace detail {
class any_host;
}

/// Everything posted to a loop runs on it one after the other, so code on a loop needs no lock against other code on it.
class event_loop {
public:
    struct virtual_time_t {};
    /// Time stands still while anything can run, then jumps to the next timer.
    static constexpr virtual_time_t virtual_time{};

    event_loop();
    explicit event_loop(virtual_time_t);
    /// A guest: makes progress on an executor of the host program, without a thread of its own and without `run`. Destroy it there,
    /// or when nothing runs there any more. Its place is a `host` of tutti/asio.hpp.
    explicit event_loop(const detail::any_host& where);
    event_loop(const event_loop&) = delete;
    event_loop& operator=(const event_loop&) = delete;
    /// Never runs what is still queued, never blocks. Contexts that live here are stopped. In a process that was forked since, nothing happens.
    ~event_loop();

    /// Throws error::closed in a forked process. Runs until `stop()`, or, with virtual time, until nothing can ever run again. Not for a guest.
    void run();
    /// From any thread; ends the current `run`, or the next when none is going on. The loop can be run again afterwards.
    /// Nothing happens to a guest.
    void stop() noexcept;

    /// From any thread; allocates nothing. `work` runs once, after what was posted before it.
    void post(detail::runnable& work) noexcept;
    /// On the loop, or when nobody runs it: takes `work` out again if it is still queued.
    void withdraw(detail::runnable& work) noexcept;

    /// Runs `work` on the loop at `when`, once. On the loop only.
    void start_timer(detail::timer& work, time_point when);
    /// On the loop only; nothing happens when it is not started.
    void stop_timer(detail::timer& work) noexcept;

    /// While this loop has nothing to do, its thread runs `other` too, so that what one waits for on this loop is done at once instead of by
    /// a thread that must be woken. Null ends it. `other` is run by a thread of its own, has one helper, and outlives the arrangement. On
    /// this loop, or before it runs. For loops in real time with threads of their own; nothing happens to others.
    void help(event_loop* other) noexcept;

    bool has_virtual_time() const noexcept;
    time_point now() const noexcept;
    /// Whether this thread runs this loop right now.
    bool here() const noexcept;
    /// The loop this thread runs, or null.
    static event_loop* current() noexcept;

    struct impl;
    impl& inner() noexcept { return *impl_; }

private:
    std::unique_ptr<impl> impl_;
};

}  // namespace tutti
