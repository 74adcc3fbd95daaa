// What lives on a loop that may be destroyed first: it is told, and ends while the loop is still there.
#pragma once

#include <tutti/event_loop.hpp>

#include <exception>

namespace tutti::detail {

class dependent {
public:
    dependent(const dependent&) = delete;
    dependent& operator=(const dependent&) = delete;

    /// For the loop.
    void let_go() noexcept {
        loop_ = nullptr;
        loop_goes();
    }

protected:
    /// Any thread. Throws error::closed in a process that was forked after the loop was made.
    explicit dependent(event_loop& loop);
    /// On the loop, or when nobody runs it.
    ~dependent();

private:
    /// The loop goes, or the executor that it is a guest of. On the loop, or when nobody runs it; once.
    virtual void loop_goes() noexcept = 0;

    event_loop* loop_;  // null when it has gone
};

/// For a loop that nobody will run any more: destroys the tasks that were started from outside of any task, and those that still will be.
void end_residents(event_loop& loop) noexcept;

/// Null, or why a call on `loop` is in vain: it belongs to the process that forked this one.
std::exception_ptr foreignness_of(event_loop& loop);

}  // namespace tutti::detail
