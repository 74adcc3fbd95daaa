// A loop that lives on the executor of a host program: it asks the host for a turn when there is work, and holds nothing in between.
#include "runtime/loop_state.hpp"
#include "runtime/readiness.hpp"

#include <utility>

namespace tutti::detail {

guest::guest(event_loop& loop, const any_host& where) : loop_(&loop), host_(where.receive(*this, readiness_of(loop.inner().own_io()))) {}

void guest::schedule() {
    if (scheduled_ || !host_) return;
    scheduled_ = true;
    host_->call(shared_from_this());
}

void guest::look_again() {
    if (loop_->here()) return;  // the end of this turn looks
    const std::lock_guard lock(loop_->inner().mutex);
    schedule();
}

void guest::turn() {
    if (loop_ == nullptr || !made_.here()) return;
    event_loop::impl& state = loop_->inner();
    {
        const std::lock_guard lock(state.mutex);
        scheduled_ = false;
    }
    bool polled = false;
    {
        const presence guard(*loop_);
        polled = state.poll_io(event_loop::impl::batch);
        state.take_remote();
        state.run_batch();
        if (!made_.here()) return;  // a task has forked
        if (!state.timers.empty()) state.fire_timers(loop_->now());
        set_alarm();
        // An operation that was begun in this turn may have ended at once, which no descriptor shows. Its handler may start a timer, and
        // the alarm may ring here: then the soonest date is another than the alarm's, and the next turn looks at it.
        polled = state.poll_io(event_loop::impl::batch) && polled;
    }
    {
        const std::lock_guard lock(state.mutex);
        if (!polled || !state.local.empty() || !state.remote.empty() || state.timers.next() != state.alarm_at) schedule();
    }
    watch();
}

void guest::readable() {
    watching_ = false;
    turn();
}

/// Sets Asio's timer to the loop's soonest, so that the descriptor shows it.
void guest::set_alarm() {
    event_loop::impl& state = loop_->inner();
    const time_point next = state.timers.next();
    if (next == state.alarm_at) return;
    if (next != no_deadline) return state.set_alarm(next);
    state.alarm_at = no_deadline;
    state.alarm->cancel();
}

/// Lets the host watch the descriptor while anything waits, and not longer: the host's run() returns when nothing is watched.
void guest::watch() {
    if (!host_) return;
    const bool waits = !loop_->inner().io->stopped();
    if (waits == watching_) return;
    watching_ = waits;
    if (waits) host_->watch(shared_from_this());
    else host_->stop_watching();
}

void guest::leave() noexcept {
    if (!made_.here()) return;
    loop_ = nullptr;
    host_.reset();
}

/// Ends all that uses the loop, as if the loop were destroyed.
void guest::host_goes() noexcept {
    if (!made_.here()) return;
    const auto self = shared_from_this();
    if (loop_ != nullptr) loop_->inner().vacate();
    host_.reset();
}

host_side* host_of(event_loop& loop) noexcept {
    const auto& guest_state = loop.inner().guest_state;
    return guest_state ? guest_state->host() : nullptr;
}

bool waits_for_itself(event_loop& loop) noexcept {
    const auto& guest_state = loop.inner().guest_state;
    return loop.here() || (guest_state && guest_state->hosted_here());
}

}  // namespace tutti::detail
