// Driving a loop for a while on another thread than its own (runtime/helping.cpp).
#pragma once

#include <tutti/detail/future_state.hpp>
#include <tutti/event_loop.hpp>

#include <utility>

namespace tutti::detail {

/// The result of event_loop::current().
extern constinit thread_local event_loop* current_loop;

/// Sets it while this thread is on a loop.
class presence {
public:
    explicit presence(event_loop& loop) noexcept : before_(std::exchange(current_loop, &loop)) {}
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    ~presence() { current_loop = before_; }

private:
    event_loop* const before_;
};

/// While it lives and is true, this thread drives the loop and no other thread does. It is true if the loop has a helper and no thread
/// drives it at the moment; it never waits. With `wished` an owner that drives is asked for the ticket.
class progress_ticket {
public:
    explicit progress_ticket(event_loop& loop, bool wished = false);
    progress_ticket(const progress_ticket&) = delete;
    progress_ticket& operator=(const progress_ticket&) = delete;
    ~progress_ticket();

    explicit operator bool() const noexcept { return driving_; }

private:
    event_loop& loop_;
    const bool driving_;
    event_loop* const before_;  // where this thread was
};

/// Returns whether this thread runs `loop`, or the executor that hosts it, as far as that is known. A wait here without suspension never
/// ends.
bool waits_for_itself(event_loop& loop) noexcept;

/// Runs turns of `loop` where this thread may, without sleeping or yielding, and returns when `end` is done. Not called on `loop`.
void spin_until(event_loop& loop, const future_state& end);

}  // namespace tutti::detail
