// What may still be used by a call that has not returned, or by a function that has not been called, and perhaps never will: it is kept
// here instead of being freed. The only such place, so that a debugger finds all of it, and who looks for leaks finds none.
#pragma once

#include <cstddef>
#include <memory>

namespace tutti::gpu::stuck {

/// From any thread. For ever, unless it is let go.
void keep(std::shared_ptr<const void> what);
/// It will not be used any more after all.
void let_go(const void* what);
/// How many things are kept.
std::size_t count();

}  // namespace tutti::gpu::stuck
