// An object on a loop that may be destroyed before it: the loop calls loop_goes(), and the object ends while the loop is still there.
#pragma once

#include <tutti/event_loop.hpp>

#include <exception>

namespace tutti::detail {

/// Derived by a context on its user's loop. The loop keeps a list of its dependents, under its mutex.
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
    /// On the loop, or when no thread runs it.
    ~dependent();

private:
    /// The loop is being destroyed, or its host. Called once, on the loop or when no thread runs it.
    virtual void loop_goes() noexcept = 0;

    event_loop* loop_;  // null when it has gone
};

/// For a loop that no thread will run any more: destroys the tasks that were started from outside of any task, also those that are still
/// sent.
void end_residents(event_loop& loop) noexcept;

/// Returns null, or the failure of a call on a loop that belongs to the process which forked this one.
std::exception_ptr foreignness_of(event_loop& loop);

}  // namespace tutti::detail
