// A wait that can be ended by trying: the loop tries what waits while it has nothing else to do, and asks the kernel only before it sleeps.
#pragma once

#include <tutti/event_loop.hpp>

namespace tutti::detail {

/// Used on its loop only. `run` tries: it ends the wait and does what there is to do, which may be nothing; then one may wait again.
class poll_source : public runnable {
public:
    explicit poll_source(event_loop& loop) noexcept : loop_(loop) {}

    /// From now on the loop calls `run`, once.
    void wait() noexcept;
    /// The same in the loop's next turn, when everything else that is expected soon has been tried.
    void wait_a_turn() noexcept;
    /// Whether it is expected to be ready soon, so that it is worth trying again and again. Not so at first.
    void expect(bool soon) noexcept;
    /// Something has moved: the loop goes on trying instead of sleeping.
    void stir() noexcept;
    /// Whether nobody else wanted the core when the loop last yielded.
    bool undisturbed() const noexcept;

    /// For the loop, which has taken it out of its list.
    void tried() noexcept { waiting_ = false; }
    /// Asks the kernel to call `ready`. Nothing happens when it has been asked already.
    virtual void arm() = 0;

protected:
    ~poll_source() = default;
    /// The kernel's answer.
    void ready() noexcept;
    /// `run` is not called any more.
    void stop_waiting() noexcept;

    event_loop& loop_;

private:
    void queue() noexcept;

    bool waiting_ = false;  // among the loop's poll sources, not posted
    bool soon_ = false;
};

}  // namespace tutti::detail
