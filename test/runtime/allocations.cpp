#include "allocations.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local long count = 0;
}

long allocations() noexcept { return count; }

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
