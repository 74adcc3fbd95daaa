// Stacks for fibers. Mapping and protecting one costs several system calls, so each thread keeps a few.
#pragma once

#include <cstddef>

namespace tutti::detail {

/// Grows downwards from `top`; below its last byte lies a guard page.
struct stack {
    void* top = nullptr;
    std::size_t bytes = 0;
};

inline constexpr std::size_t pooled_stacks_per_thread = 16;
inline constexpr std::size_t least_stack_bytes = 16 * 1024;

/// Returns a stack of at least `bytes`, rounded up to whole pages. Throws std::bad_alloc.
stack take_stack(std::size_t bytes);
/// On any thread.
void give_back(stack used) noexcept;

}  // namespace tutti::detail
