// Memory that will be read or written soon, and is in no cache.
#pragma once

#include <cstddef>

namespace tutti {

/// Begins to fetch one line of each page. A stream through cold memory stops at the beginning of each page, because the hardware fetches
/// nothing beyond a page's end and has to find the next page first. Fetched together, those waits are one.
inline void prefetch_pages(const std::byte* data, std::size_t bytes) noexcept {
    constexpr std::size_t page = 4096;
    constexpr int reading = 0, second_cache = 2;
    for (std::size_t at = 0; at < bytes; at += page) __builtin_prefetch(data + at, reading, second_cache);
    asm volatile("");  // GCC 12 drops calls of functions that only prefetch, as without effect
}

}  // namespace tutti
