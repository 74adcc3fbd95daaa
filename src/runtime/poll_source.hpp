// A wait that a try can end. The loop tries its poll sources while it has nothing else to do, and asks the kernel only before it sleeps.
#pragma once

#include <tutti/event_loop.hpp>

namespace tutti::detail {

/// Used on its loop only; the waits of links and the poller of devices derive from it. `run` is one try: the wait has ended, there may be
/// nothing to do, and `run` may wait again.
class poll_source : public runnable {
public:
    explicit poll_source(event_loop& loop) noexcept : loop_(loop) {}

    /// From now on the loop calls `run`, once.
    void wait() noexcept;
    /// Waits likewise, but the loop calls `run` in its next turn, after it has tried all sources that expect bytes soon.
    void wait_a_turn() noexcept;
    /// Says whether bytes are expected soon, so that each turn tries this source without asking the kernel first. Initially not.
    void expect(bool soon) noexcept;
    /// Bytes have moved: the loop goes on trying instead of sleeping.
    void stir() noexcept;
    /// Returns whether no other thread wanted the core when the loop last yielded.
    bool undisturbed() const noexcept;

    /// For the loop, which has taken the source off its list.
    void tried() noexcept { waiting_ = false; }
    /// Asks the kernel to call `ready`, unless it has been asked already.
    virtual void arm() = 0;

protected:
    ~poll_source() = default;
    /// The kernel's answer.
    void ready() noexcept;
    /// Ends the wait: `run` is not called any more.
    void stop_waiting() noexcept;

    event_loop& loop_;

private:
    void queue() noexcept;

    bool waiting_ = false;  // among the loop's poll sources, not posted
    bool soon_ = false;
};

}  // namespace tutti::detail
