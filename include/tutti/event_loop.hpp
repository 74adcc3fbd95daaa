// The loop that runs work: one thread at a time, in order, with timers. Real time for programs, virtual time for tests.
#pragma once

#include <tutti/detail/runnable.hpp>
#include <tutti/detail/timer.hpp>
#include <tutti/types.hpp>

#include <memory>

namespace [[gnu::visibility("default")]] tutti {

namespace detail {
class any_host;
}

/// Runs posted work one piece after the other, so code on a loop needs no lock against other code on it.
class event_loop {
public:
    struct virtual_time_t {};
    /// Time stands still while anything can run, then jumps to the next timer.
    static constexpr virtual_time_t virtual_time{};

    event_loop();
    explicit event_loop(virtual_time_t);
    /// Makes a guest: it makes progress on an executor of the host program, without a thread of its own and without `run`. `where` is a
    /// `host` of tutti/asio.hpp. Destroy the guest on that executor, or when nothing runs there any more.
    explicit event_loop(const detail::any_host& where);
    event_loop(const event_loop&) = delete;
    event_loop& operator=(const event_loop&) = delete;
    /// Drops queued work without running it, and never blocks. Contexts on this loop are stopped. Does nothing in a process forked later.
    ~event_loop();

    /// Runs until `stop()`, or, with virtual time, until nothing can ever run again. Not for a guest. Throws error::closed in a forked
    /// process.
    void run();
    /// Ends the current `run`, or the next one if none is active. Any thread. The loop can run again afterwards. Does nothing on a guest.
    void stop() noexcept;

    /// Runs `work` once, after the work posted before. Any thread; allocates nothing.
    void post(detail::runnable& work) noexcept;
    /// Removes `work` if it is still queued. On the loop, or while no thread runs it.
    void withdraw(detail::runnable& work) noexcept;

    /// Runs `work` on the loop at `when`, once. On the loop only.
    void start_timer(detail::timer& work, time_point when);
    /// Stops a timer; does nothing if it is not started. On the loop only.
    void stop_timer(detail::timer& work) noexcept;

    /// Makes this loop's thread run `other` too while this loop is idle. An operation that this loop waits for is then completed at once,
    /// without waking another thread. Null ends the help. `other` has a thread of its own and one helper, and outlives the arrangement.
    /// Call it on this loop, or before it runs. Only for loops in real time with threads of their own; on others it does nothing.
    void help(event_loop* other) noexcept;

    bool has_virtual_time() const noexcept;
    time_point now() const noexcept;
    /// Returns whether this thread is running this loop.
    bool here() const noexcept;
    /// Returns the loop that this thread runs, or null.
    static event_loop* current() noexcept;

    struct impl;
    /// For the library.
    impl& inner() noexcept { return *impl_; }

private:
    std::unique_ptr<impl> impl_;
};

}  // namespace tutti
