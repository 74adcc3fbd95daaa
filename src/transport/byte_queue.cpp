#include "transport/byte_queue.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {

byte_queue::byte_queue(std::size_t capacity_bytes)
    : capacity_(capacity_bytes),
      ring_(std::make_unique_for_overwrite<std::byte[]>(capacity_bytes)) {
    TUTTI_CHECK(capacity_bytes > 0, "a queue without capacity moves nothing");
}

std::size_t byte_queue::put(std::span<const std::span<const std::byte>> parts, std::size_t limit) noexcept {
    limit = std::min(limit, room());
    std::size_t done = 0;
    for (const auto& part : parts) {
        const auto now = std::min(part.size(), limit - done);
        put(part.first(now));
        done += now;
    }
    return done;
}

std::size_t byte_queue::take(std::span<const std::span<std::byte>> parts, std::size_t limit) noexcept {
    limit = std::min(limit, size_);
    std::size_t done = 0;
    for (const auto& part : parts) {
        const auto now = std::min(part.size(), limit - done);
        take(part.first(now));
        done += now;
    }
    if (size_ == 0) first_ = 0;  // start over, so that a short queue stays in the same cache lines
    return done;
}

void byte_queue::put(std::span<const std::byte> bytes) noexcept {
    if (bytes.empty()) return;
    const auto end = (first_ + size_) % capacity_;
    const auto before_wrap = std::min(bytes.size(), capacity_ - end);
    std::memcpy(ring_.get() + end, bytes.data(), before_wrap);
    std::memcpy(ring_.get(), bytes.data() + before_wrap, bytes.size() - before_wrap);
    size_ += bytes.size();
}

void byte_queue::take(std::span<std::byte> bytes) noexcept {
    if (bytes.empty()) return;
    const auto before_wrap = std::min(bytes.size(), capacity_ - first_);
    std::memcpy(bytes.data(), ring_.get() + first_, before_wrap);
    std::memcpy(bytes.data() + before_wrap, ring_.get(), bytes.size() - before_wrap);
    first_ = (first_ + bytes.size()) % capacity_;
    size_ -= bytes.size();
}

}  // namespace tutti
