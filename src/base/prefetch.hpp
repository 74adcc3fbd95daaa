// Memory that will be read or written soon, and is in no cache.
#pragma once

#include <cstddef>

namespace tutti {

/// Begins to fetch one line of each page. Whoever streams through cold memory stops at the beginning of each page, because no hardware
/// fetches beyond the end of one, and the page has to be found first. Asked for together those waits are one.
inline void prefetch_pages(const std::byte* data, std::size_t bytes) noexcept {
    constexpr std::size_t page = 4096;
    constexpr int reading = 0, second_cache = 2;
    for (std::size_t at = 0; at < bytes; at += page) __builtin_prefetch(data + at, reading, second_cache);
    asm volatile("");  // or GCC 12 takes whoever only prefetches for a function without effect, and drops calls to it
}

}  // namespace tutti
