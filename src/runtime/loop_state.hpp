// What is behind an event_loop: the queues, the timers, who runs it, and either an io_context of its own or a place with a host.
#pragma once

#include <tutti/detail/task_group.hpp>
#include <tutti/detail/hosting.hpp>

#include "base/process.hpp"
#include "runtime/asio.hpp"
#include "runtime/poll_source.hpp"
#include "runtime/dependent.hpp"
#include "runtime/loop_local.hpp"
#include "runtime/mailbox.hpp"
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

/// A loop's place in a host program. Shared with the handlers that the host's executor holds, which may outlive the loop. The loop's sockets
/// and timers are on an io_context of its own, which nobody runs: the host watches its epoll descriptor, and a turn polls it.
class guest final : public guest_side, public std::enable_shared_from_this<guest> {
public:
    guest(event_loop& loop, const any_host& where);
    ~guest() { leave(); }

    /// Null when the host has gone.
    host_side* host() const noexcept { return host_.get(); }
    /// Asks the host for a turn, unless one is coming already. The loop's mutex is held.
    void schedule();
    /// Something waits that was begun outside of a turn.
    void look_again();
    /// The loop goes.
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

struct [[gnu::visibility("hidden")]] event_loop::impl {
    /// Work between two looks at timers and sockets.
    static constexpr int batch = 64;
    /// Eighths of turns. What a thread does here in passing counts as one of them, and so does a try of one that spins.
    static constexpr unsigned whole_turn = 8;
    /// Between two looks at sockets that are not expected to be ready.
    static constexpr unsigned until_poll = 32 * whole_turn;
    /// Of a helper, whose turns are short: without sleep between two looks at the clock, for timers. Asking it costs 25 ns.
    static constexpr unsigned until_clock = 8 * whole_turn;

    explicit impl(event_loop& whose) noexcept : self(whose) {}
    event_loop& self;
    const birthplace made;

    // For every thread, under the mutex. Whoever posts wakes the loop before it lets go, so the loop may end right after.
    std::mutex mutex;
    detail::work_list remote;
    asio::io_context* asleep_in = nullptr;  // its own, or that of the loop it helps
    std::atomic<bool> remote_waiting{false};
    std::atomic<bool> stopping{false};

    // Who runs the turns: the thread in `run`, or that of a loop which helps; helping.cpp. Under the mutex, but that the helper's own
    // thread takes the ticket, and lets go of it, without. So it is only ever taken from nobody, by `take`.
    enum class driver { nobody, owner, helper };
    std::atomic<driver> driven_by{driver::nobody};
    std::atomic<bool> wanted{false};   // the helper asks the owner for it
    bool needed = false;               // somebody else than the helper has posted while nobody drove
    std::atomic<bool> resting{false};  // the owner waits without a limit, because the helper sleeps
    std::atomic<std::uint64_t> tickets_used{0};  // so far, in which turns were run; counted by who has the ticket
    std::atomic<impl*> helper{nullptr};
    std::condition_variable rest;      // of the owner
    bool nudged = false;               // of a helper: the ticket is free
    impl* helped = nullptr;            // for the helper's thread

    // For the loop.
    detail::work_list local;
    detail::work_list eager, lazy;     // poll sources that wait: expected to be ready soon, or not
    detail::work_list postponed;       // and those that have only left this turn to others
    bool stirred = false;              // bytes have moved
    time_point tired_at{};             // when spinning ends; 0: it has not begun, or bytes have moved since
    unsigned turns = 0;                // in eighths
    unsigned polled_at = 0, clocked_at = 0;
    std::atomic<bool> time_has_passed{false};  // it has slept: timers may be due
    time_point sober_until{};          // no spinning before; 0: there is no such time
    bool crowded = true;               // the last yield gave the core to somebody
    int hastened = 0;                  // futures since the last turn for which somebody tried before being suspended
    int begun = 0;                     // and calls that were begun on the helped loop at once
    detail::timer_heap timers;
    bool virtual_time = false;
    time_point virtual_now{};
    std::optional<asio::io_context> io;
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> io_work;
    bool io_used = false;              // by others than the library's own wake-ups
    std::optional<asio::steady_timer> alarm;  // wakes the thread that sleeps in `io`
    time_point alarm_at = no_deadline;
    std::shared_ptr<detail::guest> guest_state;
    std::vector<detail::loop_local_value> loop_locals;
    detail::told_failures told;
    std::optional<detail::task_group> residents;  // started from outside of any task, destroyed with the loop
    mailbox newcomers{self};                  // that other threads start; closed when nobody will run the loop any more
    std::vector<detail::dependent*> dependents;  // under the mutex

    /// Throws in a process that was forked after the loop was made: the kernel's part of the loop is that of the other process.
    void check_process() const;
    /// Ends what lives here: the loop goes, or its host.
    void vacate() noexcept;
    void end_residents() noexcept;
    void add(detail::dependent& one);
    void remove(detail::dependent& one) noexcept;
    asio::io_context& own_io();
    bool idle() const noexcept { return local.empty() && !remote_waiting.load(std::memory_order_relaxed); }
    /// For what only its own turns see.
    bool waits() const noexcept { return io_used || !eager.empty() || !lazy.empty() || !postponed.empty(); }
    /// When it is time, which it is at once after a sleep. Whether there was one.
    bool look_at_clock(unsigned after) noexcept;
    void take_remote() noexcept;
    void wake();
    void turn(impl* visitor);
    bool virtual_turn();
    void run_batch() noexcept;
    void fire_timers(time_point now) noexcept;
    /// False when there may be more to do at once.
    bool poll_io(int limit);
    bool jump();

    // waiting.cpp. A visitor is the helper's own loop, for which there may be something to do, too.
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
