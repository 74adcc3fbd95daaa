// Who runs a loop's turns. A loop with a helper is driven by the helper's thread whenever that has nothing else to do: what it waits for
// is done on the spot, and no thread is woken for it. When the helper is away for longer, the loop's own thread drives.
#include "runtime/loop_state.hpp"
#include "runtime/shift.hpp"

#include <algorithm>

namespace tutti {
namespace {

// How long the owner waits between two looks for the helper. It takes over when one has not been seen from one look to the next, so after at
// most twice as long. Looking costs the owner a wake-up, so it looks less and less often.
constexpr std::chrono::microseconds shortest_patience{200};
constexpr std::chrono::microseconds longest_patience{10000};
// Of a thread that spins: the sockets that are not tried, and timers.
constexpr int tries_between_polls = 256;
// Of a coroutine that is about to be suspended; and how many do so before their loop has a turn.
constexpr int hasty_tries = 32;
constexpr int most_hastened = 32;
// At the end it waits for, while somebody else drives.
constexpr int looks_between_wishes = 1024;

}  // namespace

void event_loop::help(event_loop* other) noexcept {
    impl& state = *impl_;
    if (state.place || state.virtual_time) return;
    if (impl* before = std::exchange(state.helped, nullptr)) {
        const std::lock_guard lock(before->mutex);
        before->helper = nullptr;
        before->wanted = false;
        before->rest.notify_one();
    }
    if (!other || other == this || other->impl_->place || other->impl_->virtual_time) return;
    const std::lock_guard lock(other->impl_->mutex);
    if (other->impl_->helper) return;
    state.helped = other->impl_.get();
    other->impl_->helper = &state;
}

/// Whether the helper should look after its own loop.
bool event_loop::impl::called() const noexcept {
    return !idle() || stopping.load(std::memory_order_relaxed) || (!timers.empty() && timers.next() <= self.now());
}

/// The wheel is free. The helper, which may be about to sleep, looks again.
void event_loop::impl::nudge() {
    const std::lock_guard lock(mutex);
    nudged = true;
    wake();
}

// ---- the owner

/// Returns when the owner drives, or the loop shall stop; the helper does not drive then.
void event_loop::impl::take_the_wheel() {
    std::unique_lock lock(mutex);
    auto patience = shortest_patience;
    for (auto seen = shifts;; seen = shifts) {
        if (driven_by == driver::nobody && (!helper || needed || stopping)) break;
        if (driven_by == driver::helper && asleep_in) {
            resting = true;
            rest.wait(lock);
            resting = false;
            continue;
        }
        rest.wait_for(lock, patience);
        if (driven_by == driver::nobody) time_has_passed = true;  // a helper that comes for a turn now and then is to look at the clock
        if (driven_by == driver::nobody && seen == shifts) break;
        patience = std::min(2 * patience, longest_patience);
    }
    needed = false;
    driven_by = driver::owner;
}

/// The helper is waiting for it.
void event_loop::impl::give_the_wheel() {
    const std::lock_guard lock(mutex);
    wanted = false;
    if (!helper) return;
    driven_by = driver::nobody;
    helper.load()->nudge();
}

/// Somebody has posted while nobody drives. The helper comes back by itself, and if it does not the owner will see.
void event_loop::impl::call_the_owner() {
    if (event_loop::current() == &helper.load()->self) {
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
    if (!other.begin_shift(true)) return false;
    {
        const detail::presence guard(other.self);
        while (!called() && !other.stopping.load(std::memory_order_relaxed)) other.turn(this);
    }
    other.end_shift();
    return true;
}

bool event_loop::impl::begin_shift(bool wished) {
    const std::lock_guard lock(mutex);
    if (stopping || !helper) return false;
    if (driven_by != driver::nobody) {
        // Another thread than the helper's does not wish itself into the helper's place.
        if (wished && (driven_by == driver::owner || event_loop::current() == &helper.load()->self)) {
            wanted = true;
            if (asleep_in) wake();
        }
        return false;
    }
    driven_by = driver::helper;
    ++shifts;
    return true;
}

void event_loop::impl::end_shift() {
    const std::lock_guard lock(mutex);
    driven_by = driver::nobody;
    impl* const own = helper;
    const bool by_helper = own && event_loop::current() == &own->self;
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
    for (int tries = 1; !end.done() && !stopping.load(std::memory_order_relaxed); ++tries) {
        take_remote();
        run_batch();
        if (end.done()) return;
        try_eager();
        if (tries % tries_between_polls != 0) continue;
        if (!timers.empty()) fire_timers(self.now());
        poll_io(batch);
    }
}

/// Tries what this loop's next turn would, if it has nothing else to do, but for a little while. Whether `end` is done.
bool event_loop::impl::hasten(const detail::future_state& end) noexcept {
    if (!helped || waits() || called() || ++hastened > most_hastened) return false;
    impl& other = *helped;
    const detail::shift there(other.self, true);
    if (!there || other.crowded) return false;
    if (!other.timers.empty() && other.turns % turns_between_clocks == 0) other.fire_timers(other.self.now());
    if (++other.turns % turns_between_polls == 0) other.poll_io(batch / 4);
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
    event_loop* const loop = event_loop::current();
    return loop && loop->inner().hasten(end);
}

void spin_until(event_loop& loop, const future_state& end) {
    event_loop::impl& state = loop.inner();
    while (!end.done()) {
        if (const shift here(loop, true); here) state.rush(end);
        else for (int looks = 0; looks < looks_between_wishes && !end.done(); ++looks) {}  // somebody else makes the progress
    }
}

shift::shift(event_loop& loop, bool wished) : loop_(loop), driving_(loop.inner().begin_shift(wished)) {
    if (driving_) here_.emplace(loop);
}

shift::~shift() {
    if (!driving_) return;
    here_.reset();
    loop_.inner().end_shift();
}

}  // namespace detail

}  // namespace tutti
