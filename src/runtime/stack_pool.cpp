#include "runtime/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <new>

namespace tutti::detail {
namespace {

std::size_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

stack map(std::size_t bytes) {
    const auto guard = page_bytes();
    void* low = mmap(nullptr, bytes + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (low == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(low, guard, PROT_NONE) != 0) {
        munmap(low, bytes + guard);
        throw std::bad_alloc();
    }
    return {static_cast<char*>(low) + guard + bytes, bytes};
}

void unmap(stack unused) noexcept {
    const auto guard = page_bytes();
    munmap(static_cast<char*>(unused.top) - unused.bytes - guard, unused.bytes + guard);
}

struct thread_stacks {
    ~thread_stacks() {
        while (count > 0) unmap(free[--count]);
    }
    std::array<stack, pooled_stacks_per_thread> free;
    std::size_t count = 0;
};
thread_local thread_stacks mine;

}  // namespace

stack take_stack(std::size_t bytes) {
    const auto page = page_bytes();
    if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - 2 * page) throw std::bad_alloc();
    bytes = (std::max(bytes, least_stack_bytes) + page - 1) / page * page;
    for (auto place = mine.count; place > 0; --place) {
        auto& found = mine.free[place - 1];
        if (found.bytes != bytes) continue;
        const auto taken = found;
        found = mine.free[--mine.count];
        return taken;
    }
    return map(bytes);
}

void give_back(stack used) noexcept {
    if (mine.count < mine.free.size()) mine.free[mine.count++] = used;
    else unmap(used);
}

}  // namespace tutti::detail
