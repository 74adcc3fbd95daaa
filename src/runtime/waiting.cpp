// A loop without work waits in three steps. It tries the poll sources that expect bytes soon, without asking the kernel first (try_eager). It
// spins: it tries and yields its core, for up to 50 us after bytes have last moved (spin). Then it arms all waits in the kernel and sleeps
// (sleep). A visitor is the helper's own loop: work or timers there end all three steps.
#include "runtime/loop_state.hpp"

#include <algorithm>
#include <thread>

namespace tutti {

// ---- poll sources

namespace detail {

void poll_source::queue() noexcept {
    auto& state = loop_.inner();
    if (state.guest_state) {
        arm();  // a guest never spins: its host decides when to sleep
        state.guest_state->look_again();
        return;
    }
    (soon_ ? state.eager : state.lazy).push(*this);
}

void poll_source::wait() noexcept {
    waiting_ = true;
    queue();
}

void poll_source::wait_a_turn() noexcept {
    waiting_ = true;
    if (auto& state = loop_.inner(); state.guest_state) queue();
    else state.postponed.push(*this);
}

void poll_source::expect(bool soon) noexcept {
    if (soon_ == soon) return;
    soon_ = soon;
    if (!waiting_) return;
    work_list::remove(*this);
    queue();
}

void poll_source::stir() noexcept { loop_.inner().stirred = true; }

bool poll_source::undisturbed() const noexcept { return !loop_.inner().crowded; }

void poll_source::ready() noexcept {
    if (!waiting_) return;
    waiting_ = false;
    work_list::remove(*this);
    loop_.post(*this);
}

void poll_source::stop_waiting() noexcept {
    if (waiting_) work_list::remove(*this);  // the lists are the loop's own: no lock
    else loop_.withdraw(*this);
    waiting_ = false;
}

}  // namespace detail

static void try_all(detail::work_list& round) noexcept {
    while (auto* next = round.pop()) {
        auto* one = static_cast<detail::poll_source*>(next);
        one->tried();
        one->run();
    }
}

/// Tries each source that expects bytes soon, once, and then those that had left the turn to others (wait_a_turn).
void event_loop::impl::try_eager() noexcept {
    detail::work_list round, last;
    round.take(eager);
    last.take(postponed);
    try_all(round);
    try_all(last);
}

/// Asks the kernel about the sources that expect nothing soon.
void event_loop::impl::arm_lazy() {
    while (auto* next = lazy.pop()) static_cast<detail::poll_source*>(next)->arm();
}

void event_loop::impl::arm_all() {
    arm_lazy();
    while (auto* next = postponed.pop()) static_cast<detail::poll_source*>(next)->arm();
    detail::work_list round;
    round.take(eager);
    while (auto* next = round.pop()) {
        eager.push(*next);
        static_cast<detail::poll_source*>(next)->arm();
    }
}

// ---- spinning

namespace {

// A hop costs about 50 us when both ends sleep. Spinning for longer costs more than it may save.
constexpr std::chrono::microseconds spin_time{50};
// With more runnable threads than cores, a yield gives the core away. A thread that keeps the core for 3 ms does not wait for this rank: a
// rank works on arrived data for less, as a rule, and the scheduler stops a thread that only computes after some 1.5 to 6 ms. This loop
// then does not spin for `sober_time`.
constexpr std::chrono::milliseconds long_yield{3};
constexpr std::chrono::milliseconds sober_time{50};
// A look at the sockets is a system call, so it comes with every 16th yield.
constexpr int yields_between_polls = 16;
// A yield that returns sooner than this has found no other thread that wants the core: the next 16 tries do without.
constexpr std::chrono::microseconds short_yield{1};
constexpr int tries_between_yields = 16;

}  // namespace

/// Returns true when there is something to do, here or at the visitor's; false when the loop should sleep. Only moved bytes (`stirred`) begin
/// the time anew: work of a try that moves nothing does not.
bool event_loop::impl::spin(const impl* visitor) {
    if (eager.empty() || (helper && !visitor)) return false;  // the owner: its helper computes and needs the core
    if (sober_until != time_point{}) {
        if (self.now() < sober_until) return false;
        sober_until = {};
    }
    bool late = false;  // the time is over, but one more try follows: the last yield may have lasted longer than all of it
    for (int tries = 1, yields = 0;; ++tries) {
        stirred = false;
        try_eager();
        if (stirred) tired_at = {};
        if (stirred || !idle() || stopping.load(std::memory_order_relaxed) || (visitor && visitor->called())) return true;
        if (late) {
            tired_at = {};
            return false;
        }
        if (!crowded && tries % tries_between_yields != 0) continue;
        if (++yields % yields_between_polls == 0) {
            poll_io(batch);
            if (!idle()) return true;
        }
        const auto before = self.now();
        if (tired_at == time_point{}) tired_at = before + spin_time;
        std::this_thread::yield();
        const auto after = self.now();
        crowded = after - before > short_yield;
        if (after - before > long_yield) sober_until = after + sober_time;
        late = after >= tired_at;
    }
}

// ---- sleeping

/// Sleeps in the kernel until a socket is ready, a timer is due or a thread posts, here or at the visitor's.
void event_loop::impl::sleep(impl* visitor) {
    time_has_passed = true;
    io->restart();
    arm_all();
    if (!idle()) return;  // something became ready while it was armed
    if (visitor && !visitor->fall_asleep(*io)) return;
    if (fall_asleep(*io)) {
        const time_point until = visitor ? std::min(timers.next(), visitor->timers.next()) : timers.next();
        const std::size_t handled = run_one_until(until);
        wake_up();
        if (handled != 0) poll_io(batch);
    }
    if (visitor) visitor->wake_up();
}

/// Asio's function of this name waits in whole milliseconds and wakes once a second. For times more than a second away there is therefore
/// an alarm, which costs a system call when it is set. An alarm that was set for an earlier time may ring in vain.
std::size_t event_loop::impl::run_one_until(time_point until) {
    constexpr std::chrono::seconds far{1};
    if (until == no_deadline) return io->run_one();
    const time_point now = self.now();
    if (until - now < far) return io->run_one_until(until);
    if (alarm_at > until || alarm_at <= now) set_alarm(until);
    return io->run_one();
}

void event_loop::impl::set_alarm(time_point when) {
    if (!alarm) alarm.emplace(*io);
    alarm_at = when;
    alarm->expires_at(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(when));
    alarm->async_wait([this, when](boost::system::error_code) {
        if (alarm_at == when) alarm_at = no_deadline;  // else it was set to another time
    });
}

/// Notes, under the mutex, where this loop sleeps, so that wake() can end the sleep. Returns false when there is something to do after all.
bool event_loop::impl::fall_asleep(asio::io_context& where) {
    const std::lock_guard lock(mutex);
    if (driven_by == driver::owner && wanted) return false;
    if (std::exchange(nudged, false) || !remote.empty() || stopping.load(std::memory_order_relaxed)) return false;
    asleep_in = &where;
    return true;
}

void event_loop::impl::wake_up() {
    const std::lock_guard lock(mutex);
    asleep_in = nullptr;
    nudged = false;
}

}  // namespace tutti
