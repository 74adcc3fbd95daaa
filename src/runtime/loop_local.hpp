// Values that a loop keeps for other parts of the library, for as long as it lives.
#pragma once

#include <tutti/event_loop.hpp>

#include <memory>

namespace tutti::detail {

struct loop_local_value {
    std::weak_ptr<const void> whose;
    std::shared_ptr<void> what;
};

/// Returns the value that `whose` has in `loop`, null at first. It is destroyed with the loop; after the end of `whose`, when another owner
/// asks for a value. On the loop, or when no thread runs it.
std::shared_ptr<void>& loop_local(event_loop& loop, const std::shared_ptr<const void>& whose);

}  // namespace tutti::detail
