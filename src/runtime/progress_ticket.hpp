// Being on a loop for a while without being the thread that runs it.
#pragma once

#include <tutti/detail/future_state.hpp>
#include <tutti/event_loop.hpp>

#include <utility>

namespace tutti::detail {

/// What `event_loop::current()` says.
extern constinit thread_local event_loop* current_loop;

/// Makes that tell the truth while it lives.
class presence {
public:
    explicit presence(event_loop& loop) noexcept : before_(std::exchange(current_loop, &loop)) {}
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    ~presence() { current_loop = before_; }

private:
    event_loop* const before_;
};

/// While it lives and is true, this thread is on the loop and nobody else is. It is true when the loop has a helper and nobody runs it at
/// the moment; it never waits. With `wished` an owner who runs it hears that somebody would like to.
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

/// Whether this thread runs `loop`, or the executor that it is a guest of, where that tells: whoever waits here without suspending waits for ever.
bool waits_for_itself(event_loop& loop) noexcept;

/// Returns when `end` is done, and does nothing else until then: runs the turns of `loop` where this thread may, without sleeping or yielding.
/// Not on `loop`.
void spin_until(event_loop& loop, const future_state& end);

}  // namespace tutti::detail
