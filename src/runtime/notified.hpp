// Waits for a condition, but not beyond a limit.
#pragma once

#include <tutti/event.hpp>
#include <tutti/when_all.hpp>

namespace tutti {

/// Returns whether `changed` was notified before `limit`. The condition outlives the task.
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
