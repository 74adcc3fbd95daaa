// A bounded ring of bytes in one process: those on their way over a link of the memory and simulated transports.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace tutti {

class byte_queue {
public:
    explicit byte_queue(std::size_t capacity_bytes);

    std::size_t size() const noexcept { return size_; }
    std::size_t room() const noexcept { return capacity_ - size_; }

    /// Copies in the front of `parts`, at most `limit` bytes and no more than there is room for. Returns how many.
    std::size_t put(std::span<const std::span<const std::byte>> parts, std::size_t limit) noexcept;
    /// Moves the oldest bytes to `parts`, at most `limit`. Returns how many.
    std::size_t take(std::span<const std::span<std::byte>> parts, std::size_t limit) noexcept;

private:
    void put(std::span<const std::byte> bytes) noexcept;
    void take(std::span<std::byte> bytes) noexcept;

    std::size_t capacity_;
    std::unique_ptr<std::byte[]> ring_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

/// Returns the bytes of all parts together.
template <class Byte>
std::size_t total_bytes(std::span<const std::span<Byte>> parts) noexcept {
    std::size_t total = 0;
    for (const auto& part : parts) total += part.size();
    return total;
}

}  // namespace tutti
