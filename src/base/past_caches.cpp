#include "base/past_caches.hpp"

#include <tutti/types.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tutti {

#ifdef __SSE2__
void copy_past_caches(void* target, const void* source, std::size_t bytes) noexcept {
    constexpr std::size_t line = 64, store = sizeof(__m128i);
    auto* to = static_cast<std::byte*>(target);
    const auto* from = static_cast<const std::byte*>(source);
    const std::size_t head = std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
    if (head > 0) std::memcpy(to, from, head);
    to += head, from += head, bytes -= head;
    for (; bytes >= line; to += line, from += line, bytes -= line)
        for (std::size_t at = 0; at < line; at += store)
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    if (bytes > 0) std::memcpy(to, from, bytes);
    _mm_sfence();
}
#else
void copy_past_caches(void* target, const void* source, std::size_t bytes) noexcept {
    if (bytes > 0) std::memcpy(target, source, bytes);
}
#endif

static std::size_t asked_of_system() {
    // sysconf tells of all such caches of a processor together, and a core has a part in one of them.
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
    std::size_t size = 0;
    char unit = 0;
    if (!(file >> size >> unit) || size == 0) return 32 * MiB;
    return unit == 'K' ? size * KiB : unit == 'M' ? size * MiB : size;
}

std::size_t last_cache_bytes() noexcept {
    try {
        static const std::size_t found = asked_of_system();
        return found;
    } catch (...) {
        return 32 * MiB;  // memory has run out
    }
}

}  // namespace tutti
