// The inside of an event_loop: queues, timers, poll sources, the driving thread, and an io_context that the loop runs or a host watches.
// event_loop.cpp has the turns; waiting.cpp, what a turn does without work; helping.cpp, which thread runs the turns; guest.cpp, the host.
#pragma once

#include <tutti/detail/task_group.hpp>
#include <tutti/detail/hosting.hpp>

#include "base/process.hpp"
#include "runtime/asio.hpp"
#include "runtime/dependent.hpp"
#include "runtime/loop_local.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/poll_source.hpp"
#include "runtime/progress_ticket.hpp"
#include "runtime/timer_heap.hpp"
#include "runtime/told.hpp"
#include "runtime/work_list.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace tutti {
namespace detail {

class guest;

/// A loop's place in a host program. The handlers in the host's executor share it, and may outlive the loop. The loop's sockets and timers
/// are on an io_context of its own, which no thread runs: the host watches its epoll descriptor, and each turn polls it.
class guest final : public guest_side, public std::enable_shared_from_this<guest> {
public:
    guest(event_loop& loop, const any_host& where);
    ~guest() { leave(); }

    /// Returns null when the host has gone.
    host_side* host() const noexcept { return host_.get(); }
    /// Asks the host for a turn, unless one is coming already. The loop's mutex is held.
    void schedule();
    /// Asks for a turn because a wait was begun outside of one: the host's descriptor does not show posted handlers.
    void look_again();
    /// The loop is being destroyed.
    void leave() noexcept;
    void host_goes() noexcept override;
    bool hosted_here() const noexcept { return made_.here() && host_ && host_->here(); }

private:
    void turn() override;
    void readable() override;
    void set_alarm();
    void watch();

    const birthplace made_;
    event_loop* loop_;  // null when it is gone
    std::unique_ptr<host_side> host_;
    bool watching_ = false;   // the host tells when the descriptor is readable
    bool scheduled_ = false;  // under the loop's mutex
};

}  // namespace detail

/// Members are of three kinds: for every thread, under the mutex; about the ticket, as helping.cpp says; and for the thread that drives,
/// without a lock. A turn is: take remote work, run a batch, look at the clock, then try, spin or sleep.
struct [[gnu::visibility("hidden")]] event_loop::impl {
    /// Work items in one turn, so that much work does not starve timers and sockets.
    static constexpr int batch = 64;
    /// Turns are counted in eighths: a call that begins at once, and a try of a spinning thread, count as one eighth.
    static constexpr unsigned whole_turn = 8;
    /// Between two looks at the sockets that expect nothing soon: a look is a system call.
    static constexpr unsigned until_poll = 32 * whole_turn;
    /// For a helper, whose turns are short: turns without sleep between two looks at the clock, for timers. A look costs 25 ns.
    static constexpr unsigned until_clock = 8 * whole_turn;

    explicit impl(event_loop& whose) noexcept : self(whose) {}
    event_loop& self;
    const birthplace made;

    // For every thread, under the mutex. A thread that posts wakes the loop before it unlocks, so the loop may be destroyed right after.
    std::mutex mutex;
    detail::work_list remote;
    asio::io_context* asleep_in = nullptr;  // where the thread sleeps: in its own, or in that of the loop that it helps
    std::atomic<bool> remote_waiting{false};
    std::atomic<bool> stopping{false};

    // Which thread runs the turns: the one in `run`, or a helper's (helping.cpp). Under the mutex, except that the helper's own thread
    // takes and returns the ticket without. So every thread gets the ticket by `take`, and only when `nobody` has it.
    enum class driver { nobody, owner, helper };
    std::atomic<driver> driven_by{driver::nobody};
    std::atomic<bool> wanted{false};   // the helper asks the owner for it
    bool needed = false;               // a thread other than the helper's has posted while no thread drove
    std::atomic<bool> resting{false};  // the owner waits without a limit, because the helper sleeps
    std::atomic<std::uint64_t> tickets_used{0};  // tickets so far in which turns were run; counted by the ticket's holder
    std::atomic<impl*> helper{nullptr};
    std::condition_variable rest;      // where the owner waits
    bool nudged = false;               // at a helper: the ticket is free, so do not sleep
    impl* helped = nullptr;            // at a helper, for its thread: the loop that it helps

    // For the thread that drives.
    detail::work_list local;
    detail::work_list eager, lazy;     // poll sources that wait: expected to be ready soon, or not
    detail::work_list postponed;       // and those that leave this turn to others
    bool stirred = false;              // bytes have moved since it was cleared
    time_point tired_at{};             // when spinning ends; 0: it has not begun, or bytes have moved since
    unsigned turns = 0;                // in eighths
    unsigned polled_at = 0, clocked_at = 0;
    std::atomic<bool> time_has_passed{false};  // the thread has slept: timers may be due
    time_point sober_until{};          // no spinning before; 0: there is no such time
    bool crowded = true;               // the last yield gave the core to another thread
    int hastened = 0;                  // since the last turn: futures that hasten() tried
    int begun = 0;                     // and calls that began at once on the helped loop
    detail::timer_heap timers;
    bool virtual_time = false;
    time_point virtual_now{};
    std::optional<asio::io_context> io;
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> io_work;
    bool io_used = false;              // for more than the library's own wake-ups
    std::optional<asio::steady_timer> alarm;  // wakes the thread that sleeps in `io`
    time_point alarm_at = no_deadline;
    std::shared_ptr<detail::guest> guest_state;
    std::vector<detail::loop_local_value> loop_locals;
    detail::told_failures told;
    std::optional<detail::task_group> residents;  // tasks started from outside of any task; destroyed with the loop
    mailbox newcomers{self};                  // tasks that other threads start; closed when no thread will run the loop any more
    std::vector<detail::dependent*> dependents;  // under the mutex

    /// Throws in a process that was forked after the loop was made: the kernel's part of the loop is that of the other process.
    void check_process() const;
    /// Ends the dependents, tasks and loop-local values: the loop is being destroyed, or its host.
    void vacate() noexcept;
    void end_residents() noexcept;
    void add(detail::dependent& one);
    void remove(detail::dependent& one) noexcept;
    asio::io_context& own_io();
    bool idle() const noexcept { return local.empty() && !remote_waiting.load(std::memory_order_relaxed); }
    /// Returns whether something waits here that only this loop's own turns see.
    bool waits() const noexcept { return io_used || !eager.empty() || !lazy.empty() || !postponed.empty(); }
    /// Fires timers if `after` eighths of turns have passed, or at once after a sleep. Returns whether there was a sleep.
    bool look_at_clock(unsigned after) noexcept;
    void take_remote() noexcept;
    void wake();
    void turn(impl* visitor);
    bool virtual_turn();
    void run_batch() noexcept;
    void fire_timers(time_point now) noexcept;
    /// Runs up to `limit` handlers of ready sockets. Returns false when there may be more.
    bool poll_io(int limit);
    bool jump();

    // waiting.cpp. A visitor is the helper's own loop, which may get work meanwhile.
    void try_eager() noexcept;
    void arm_lazy();
    void arm_all();
    bool spin(const impl* visitor);
    void sleep(impl* visitor);
    std::size_t run_one_until(time_point until);
    void set_alarm(time_point when);
    bool fall_asleep(asio::io_context& where);
    void wake_up();

    // helping.cpp
    bool called() const noexcept;
    bool on_helper() const noexcept;
    bool take(driver which) noexcept;
    void nudge();
    void regain_ticket();
    void lend_ticket();
    void call_the_owner();
    bool drive_helped() noexcept;
    bool take_ticket(bool wished);
    void return_ticket();
    void rush(const detail::future_state& end);
    bool hasten(const detail::future_state& end) noexcept;
};

}  // namespace tutti
