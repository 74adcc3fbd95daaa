// Memory that is leaked on purpose: a call that has not returned, or a host function that has not been called, may still use it, and perhaps never ends.
// All such memory is kept here, so a debugger finds it and leak checkers report none of it.
#pragma once

#include <cstddef>
#include <memory>

namespace tutti::gpu::stuck {

/// Keeps `what` for ever, or until it is let go. From any thread.
void keep(std::shared_ptr<const void> what);
/// Releases `what`, because it is not used any more after all.
void let_go(const void* what);
/// Returns the number of things that are kept.
std::size_t count();

}  // namespace tutti::gpu::stuck
