#include "allocations.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local long count = 0;
}

long allocations() noexcept { return count; }

// ThreadSanitizer brings an operator new that cannot be replaced: nothing is counted there.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TUTTI_COUNTS_NOTHING
#endif
#endif
#ifndef TUTTI_COUNTS_NOTHING
void* operator new(std::size_t bytes) {
    ++count;
    if (void* memory = std::malloc(bytes)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    ++count;
    return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
