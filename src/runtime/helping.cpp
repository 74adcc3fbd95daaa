// Who runs a loop's turns. A loop with a helper is driven by the helper's thread whenever that has nothing else to do: what it waits for
// is done on the spot, and no thread is woken for it. When the helper is away for longer, the loop's own thread drives.
#include "runtime/loop_state.hpp"
#include "runtime/progress_ticket.hpp"

#include <algorithm>

namespace tutti {
namespace {

// How long the owner waits between two looks for the helper. It takes over when one has not been seen from one look to the next, so after at
// most twice as long. Looking costs the owner a wake-up, so it looks less and less often.
constexpr std::chrono::microseconds shortest_patience{200};
constexpr std::chrono::microseconds longest_patience{10000};
// Of a coroutine that is about to be suspended; and how often it goes on at once, for this or because a call was begun on the spot and may
// have ended there, before its loop has a turn.
constexpr int hasty_tries = 32;
constexpr int most_hastened = 256;
// At the end it waits for, while somebody else drives.
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

/// Whether the helper should look after its own loop.
bool event_loop::impl::called() const noexcept {
    return !idle() || stopping.load(std::memory_order_relaxed) || (!timers.empty() && timers.next() <= self.now());
}

/// Whether this thread is the helper's, and not on another loop for a while. That does not change while it is asked.
bool event_loop::impl::on_helper() const noexcept {
    const event_loop* const here = detail::current_loop;
    return here && here->impl_.get() == helper.load(std::memory_order_relaxed);
}

/// The ticket, if it is free.
bool event_loop::impl::take(driver which) noexcept {
    driver before = driver::nobody;
    return driven_by.compare_exchange_strong(before, which);
}

/// The ticket is free. The helper, which may be about to sleep, looks again.
void event_loop::impl::nudge() {
    const std::lock_guard lock(mutex);
    nudged = true;
    wake();
}

// ---- the owner

/// Returns when the owner drives. It rests only when it has seen, under the mutex, that the helper sleeps, which passes the mutex to go on.
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
        if (driven_by == driver::nobody) time_has_passed = true;  // a helper that comes for a turn now and then is to look at the clock
        if (seen == tickets_used && take(driver::owner)) break;
        patience = std::min(2 * patience, longest_patience);
    }
    needed = false;
}

/// The helper is waiting for it.
void event_loop::impl::lend_ticket() {
    const std::lock_guard lock(mutex);
    wanted = false;
    if (!helper) return;
    driven_by = driver::nobody;
    helper.load()->nudge();
}

/// Somebody has posted while nobody drives. The helper comes back by itself, and if it does not the owner will see.
void event_loop::impl::call_the_owner() {
    if (on_helper()) {
        if (resting) rest.notify_one();
        return;
    }
    needed = true;
    rest.notify_one();
}

// ---- the helper

/// Runs the loop that this one helps until there is something to do here. False when its owner runs it.
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

/// The owner takes note of tickets that were wished only: in others the loop's turns are not run.
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
    // Another thread than the helper's does not wish itself into the helper's place.
    if (wished && (driven_by == driver::owner || on_helper())) {
        wanted = true;
        if (asleep_in) wake();
    }
    return false;
}

/// Who stops the loop says so before it looks who drives: one of the two sees the other.
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

/// As many turns as there are until `end` is done.
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

/// Tries what this loop's next turn would, if it has nothing else to do, but for a little while. Whether `end` is done.
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
        if (event_loop* const own = event_loop::current()) own->inner().begun = 0;  // who spins does not want its turns
        if (const progress_ticket here(loop, true); here) state.rush(end);
        else for (int looks = 0; looks < looks_between_wishes && !end.done(); ++looks) {}  // somebody else makes the progress
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
