// Waits for a condition, but not beyond a limit.
#pragma once

#include <tutti/event.hpp>
#include <tutti/when_all.hpp>

namespace tutti {

/// Returns whether `changed` was notified before `limit`. The condition outlives the task. A test of the result stands in a statement of its
/// own: g++ 12 makes wrong code of a co_await in a condition here.
inline task<bool> notified(condition& changed, time_point limit) {
    try {
        co_await with_deadline(changed.wait(), limit);
    } catch (const failure& why) {
        if (why.code() != error::timed_out) throw;
        co_return false;
    }
    co_return true;
}

}  // namespace tutti
