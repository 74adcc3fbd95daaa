// Helping: which thread runs a loop's turns. Waking a thread costs more than a small collective. So the progress loop is driven by the
// thread of a user's loop, the helper, whenever that has nothing else to do. If the helper stays away, the loop's own thread, the owner,
// drives. The thread that drives holds the progress ticket, which is `driven_by`:
//
//            regain_ticket()                  take_ticket()
//         <--------------------          -------------------->
//   owner                       nobody                         helper
//         -------------------->          <--------------------
//            lend_ticket()                    return_ticket()
//
// `regain_ticket`: there is no helper, the helper has not driven between two looks, or another thread has posted work.
// `lend_ticket`: the helper wants the ticket. When run() ends, the owner takes the ticket once more and leaves it free.
// `take_ticket`: drive_helped, hasten, spin_until, or a call that begins at once.
// `return_ticket`: the helper's loop has work of its own, or the call is over.
//
// Both ways out of `nobody` go through `take`. The helper's own thread takes and returns the ticket by one atomic write; all other changes
// are made under the loop's mutex. "helper" also stands for another thread that holds a progress_ticket for one call.
#include "runtime/loop_state.hpp"
#include "runtime/progress_ticket.hpp"

#include <algorithm>

namespace tutti {
namespace {

// The owner's interval between two looks for the helper. It takes over if the helper has not driven between two looks, so after at most
// twice as long. A look costs the owner a wake-up, so the interval doubles.
constexpr std::chrono::microseconds shortest_patience{200};
constexpr std::chrono::microseconds longest_patience{10000};
// Tries of hasten() before a coroutine is suspended.
constexpr int hasty_tries = 32;
// Futures that are hastened, and calls that begin at once, in one turn of the caller's loop. More would keep that loop from its other work.
constexpr int most_hastened = 256;
// Looks at the awaited future by a spinning thread before it asks for the ticket again, while another thread drives: asking takes the
// mutex.
constexpr int looks_between_wishes = 1024;

}  // namespace

void event_loop::help(event_loop* other) noexcept {
    impl& state = *impl_;
    if (state.guest_state || state.virtual_time || !state.made.here()) return;
    if (impl* before = std::exchange(state.helped, nullptr)) {
        const std::lock_guard lock(before->mutex);
        before->helper = nullptr;
        before->wanted = false;
        before->rest.notify_one();
    }
    if (!other || other == this || other->impl_->guest_state || other->impl_->virtual_time) return;
    const std::lock_guard lock(other->impl_->mutex);
    if (other->impl_->helper) return;
    state.helped = other->impl_.get();
    other->impl_->helper = &state;
}

/// Asked of the helper's loop: returns whether it has work of its own, so that its thread should come back.
bool event_loop::impl::called() const noexcept {
    return !idle() || stopping.load(std::memory_order_relaxed) || (!timers.empty() && timers.next() <= self.now());
}

/// Returns whether this thread runs the helper's loop, and is not on another loop for a while. Only this thread can change that.
bool event_loop::impl::on_helper() const noexcept {
    const event_loop* const here = detail::current_loop;
    return here && here->impl_.get() == helper.load(std::memory_order_relaxed);
}

/// Takes the ticket if it is free.
bool event_loop::impl::take(driver which) noexcept {
    driver before = driver::nobody;
    return driven_by.compare_exchange_strong(before, which);
}

/// Asked of the helper's loop: the ticket is free. It wakes the helper, or keeps it from falling asleep.
void event_loop::impl::nudge() {
    const std::lock_guard lock(mutex);
    nudged = true;
    wake();
}

// ---- the owner

/// Returns when the owner has the ticket. It rests without a limit only if it has seen, under the mutex, that the helper sleeps in the
/// kernel. The helper takes the mutex when it wakes, and return_ticket() then ends the rest.
void event_loop::impl::regain_ticket() {
    std::unique_lock lock(mutex);
    auto patience = shortest_patience;
    for (std::uint64_t seen = tickets_used;; seen = tickets_used) {
        if ((!helper || needed || stopping) && take(driver::owner)) break;
        if (driven_by == driver::helper && asleep_in) {
            resting = true;
            rest.wait(lock);
            resting = false;
            continue;
        }
        rest.wait_for(lock, patience);
        if (driven_by == driver::nobody) time_has_passed = true;  // a helper whose turns are rare looks at the clock
        if (seen == tickets_used && take(driver::owner)) break;
        patience = std::min(2 * patience, longest_patience);
    }
    needed = false;
}

/// Frees the ticket for the thread that has set `wanted`, and nudges the helper.
void event_loop::impl::lend_ticket() {
    const std::lock_guard lock(mutex);
    wanted = false;
    if (!helper) return;
    driven_by = driver::nobody;
    helper.load()->nudge();
}

/// Work was posted while the ticket was free. If the helper's thread posted it, that thread comes back to drive by itself, or the owner
/// sees that it does not. For another thread's work the owner drives at once.
void event_loop::impl::call_the_owner() {
    if (on_helper()) {
        if (resting) rest.notify_one();
        return;
    }
    needed = true;
    rest.notify_one();
}

// ---- the helper

/// Runs the loop that this one helps until there is something to do here. Returns false if the owner has the ticket.
bool event_loop::impl::drive_helped() noexcept {
    impl& other = *helped;
    if (!other.take_ticket(true)) return false;
    {
        const detail::presence guard(other.self);
        while (!called() && !other.stopping.load(std::memory_order_relaxed)) other.turn(this);
    }
    other.return_ticket();
    return true;
}

/// `wished`: to run turns, so the owner, which would drive otherwise, is asked for the ticket and counts it as a sign of the helper.
/// Without, the ticket is for one call that begins at once: no turns are run, and the owner is left alone.
bool event_loop::impl::take_ticket(bool wished) {
    const auto begin = [this, wished] {
        if (!take(driver::helper)) return false;
        if (wished) tickets_used.store(tickets_used.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        else ++turns;
        return true;
    };
    if (on_helper()) {
        if (!wished && ++helper.load(std::memory_order_relaxed)->begun > most_hastened) return false;
        if (!stopping && begin()) return true;
    }
    const std::lock_guard lock(mutex);
    if (stopping || !helper) return false;
    if (begin()) return true;
    // Another thread than the helper's never asks the helper for the ticket, only the owner.
    if (wished && (driven_by == driver::owner || on_helper())) {
        wanted = true;
        if (asleep_in) wake();
    }
    return false;
}

/// A stopping thread sets `stopping` before it reads `driven_by`. This thread writes `driven_by` before it reads `stopping`, so one of the
/// two sees the other. The flags are the reasons to take the mutex: an owner that rests, a stop, or a thread that wants the ticket.
void event_loop::impl::return_ticket() {
    const bool by_helper = on_helper();
    if (by_helper) {
        driven_by = driver::nobody;
        if (!resting && !stopping && !wanted) return;
    }
    const std::lock_guard lock(mutex);
    if (!by_helper) driven_by = driver::nobody;
    impl* const own = helper;
    if (!own || resting || stopping) {
        rest.notify_one();
        return;
    }
    if (wanted.exchange(false)) own->nudge();
    if (!by_helper) call_the_owner();
}

/// Runs turns without sleep or yield until `end` is done: for spin_until.
void event_loop::impl::rush(const detail::future_state& end) {
    crowded = false;
    while (!end.done() && !stopping.load(std::memory_order_relaxed)) {
        take_remote();
        run_batch();
        if (end.done()) return;
        try_eager();
        if (++turns - polled_at < until_poll) continue;
        look_at_clock(0);
        poll_io(batch);
    }
}

/// Drives the helped loop for a few tries before a coroutine is suspended, as the next turn here would do, and so saves the suspension.
/// Only if this loop has nothing else to do and no other thread wants the core. Returns whether `end` is done.
bool event_loop::impl::hasten(const detail::future_state& end) noexcept {
    if (!helped || waits() || called() || ++hastened > most_hastened) return false;
    impl& other = *helped;
    const detail::progress_ticket there(other.self, true);
    if (!there || other.crowded) return false;
    const bool late = other.look_at_clock(until_clock);
    if (++other.turns - other.polled_at >= until_poll || late) other.poll_io(batch / 4);
    other.stirred = false;
    for (int tries = 0; tries < hasty_tries && !called() && !other.stopping.load(std::memory_order_relaxed); ++tries) {
        other.take_remote();
        other.run_batch();
        if (end.done()) break;
        other.try_eager();
    }
    if (other.stirred) other.tired_at = {};
    return end.done();
}

namespace detail {

bool hasten(const future_state& end) noexcept {
    if (end.foreign()) return false;
    event_loop* const loop = event_loop::current();
    return loop && loop->inner().hasten(end);
}

void spin_until(event_loop& loop, const future_state& end) {
    event_loop::impl& state = loop.inner();
    while (!end.done()) {
        if (event_loop* const own = event_loop::current()) own->inner().begun = 0;  // its loop has no turns meanwhile
        if (const progress_ticket here(loop, true); here) state.rush(end);
        else for (int looks = 0; looks < looks_between_wishes && !end.done(); ++looks) {}  // another thread drives
    }
}

progress_ticket::progress_ticket(event_loop& loop, bool wished)
    : loop_(loop),
      driving_(loop.inner().take_ticket(wished)),
      before_(driving_ ? std::exchange(current_loop, &loop) : nullptr) {}

progress_ticket::~progress_ticket() {
    if (!driving_) return;
    current_loop = before_;
    loop_.inner().return_ticket();
}

}  // namespace detail

}  // namespace tutti
