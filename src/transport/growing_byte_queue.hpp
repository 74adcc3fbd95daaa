// Bytes in the order of their arrival, in memory that grows with them; byte_queue is the bounded one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tutti {

class growing_byte_queue {
public:
    bool empty() const noexcept { return gone_ == bytes_.size(); }
    std::size_t size() const noexcept { return bytes_.size() - gone_; }
    /// Returns all bytes, the oldest first, until the next `put` or `drop`.
    std::span<const std::byte> bytes() const noexcept { return std::span(bytes_).subspan(gone_); }
    void put(std::span<const std::byte> more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
    /// Forgets the oldest bytes. An empty queue keeps at most `kept_bytes` of memory.
    void drop(std::size_t count) noexcept {
        gone_ += count;
        if (gone_ < bytes_.size() - gone_) return;  // to move the rest now would cost more than it has brought
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(gone_));
        gone_ = 0;
        if (bytes_.empty() && bytes_.capacity() > kept_bytes) bytes_.shrink_to_fit();
    }

private:
    static constexpr std::size_t kept_bytes = 4096;

    std::vector<std::byte> bytes_;
    std::size_t gone_ = 0;
};

}  // namespace tutti
