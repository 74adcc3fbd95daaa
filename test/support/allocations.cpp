#include "support/allocations.hpp"

#include "support/sanitizers.hpp"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

std::atomic<std::size_t> count{0}, long_count{0};
thread_local std::size_t own_count = 0;
constexpr std::size_t plenty = std::numeric_limits<std::size_t>::max();
thread_local std::size_t left = plenty;
std::atomic<std::size_t> pages{plenty};

[[maybe_unused]] void* counted(std::size_t bytes) noexcept {
    if (left == 0) return nullptr;
    if (left != plenty) --left;
    count.fetch_add(1, std::memory_order_relaxed);
    if (bytes >= 1024 * 1024) long_count.fetch_add(1, std::memory_order_relaxed);
    ++own_count;
    return std::malloc(bytes == 0 ? 1 : bytes);
}

[[maybe_unused]] void* aligned(std::size_t bytes, std::align_val_t to) noexcept {
    if (bytes >= pages.load(std::memory_order_relaxed)) return nullptr;
    const auto unit = static_cast<std::size_t>(to);
    return std::aligned_alloc(unit, (bytes + unit) / unit * unit);
}

}  // namespace

#if __has_feature(thread_sanitizer)
const bool tutti::test::counts_allocations = false;
#else
const bool tutti::test::counts_allocations = true;
void* operator new(std::size_t bytes) {
    if (void* memory = counted(bytes)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void* operator new(std::size_t bytes, std::align_val_t to) {
    if (void* memory = aligned(bytes, to)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t to, const std::nothrow_t&) noexcept { return aligned(bytes, to); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace tutti::test {

std::size_t allocations() noexcept { return count.load(std::memory_order_relaxed); }
std::size_t long_allocations() noexcept { return long_count.load(std::memory_order_relaxed); }
std::size_t own_allocations() noexcept { return own_count; }

scarce_memory::scarce_memory(std::size_t times) noexcept { left = times; }
scarce_memory::~scarce_memory() { left = plenty; }

scarce_pages::scarce_pages(std::size_t bytes) noexcept { pages = bytes; }
scarce_pages::~scarce_pages() { pages = plenty; }

}  // namespace tutti::test
