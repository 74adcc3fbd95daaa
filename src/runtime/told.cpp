#include "runtime/told.hpp"

#include "runtime/loop_state.hpp"

#include <tutti/detail/future_state.hpp>

namespace tutti::detail {

void note_told(const failure& why) noexcept {
    if (auto* const loop = event_loop::current()) loop->inner().told.add(why);
}

bool was_told(event_loop& loop, const failure& why) noexcept { return loop.inner().told.has(why); }

}  // namespace tutti::detail
