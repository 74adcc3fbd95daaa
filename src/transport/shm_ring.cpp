#include "transport/shm_ring.hpp"

#include "base/past_caches.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {
namespace {

/// How much is copied before the position is published: the receiver works on the first part while the next is copied. For a short message
/// a quarter of it: the receiver then has only the last part to copy when the sender is done.
constexpr std::size_t chunk_bytes = 32 * KiB, least_chunk_bytes = 4 * KiB;
/// A sender that found the ring full is woken when so much is free, not for every few bytes.
constexpr std::size_t worthwhile_bytes = ring_bytes / 4;
static_assert(untold_bytes + worthwhile_bytes <= ring_bytes, "who waits for room must be told of it in the end");

constexpr std::size_t split_grain = 64;  // a part that does not fit is split at multiples of this
constexpr std::size_t cache_line = 64;

/// Writes into each cache line that has been read. A line that this core has only read stays in its cache, and the sender's next write
/// waits until it is dropped, line by line: about 9 GB/s. A line that this core has written moves to the sender as a whole: 70 GB/s.
void take_over(std::byte* bytes, std::size_t count) noexcept {
    for (std::size_t at = 0; at < count; at += cache_line) *const_cast<volatile std::byte*>(bytes + at) = std::byte{0};
    if (count > 0) *const_cast<volatile std::byte*>(bytes + count - 1) = std::byte{0};
}

}  // namespace

/// Reads the receiver's position. Called only when the last one seen is not enough.
std::size_t ring_sender::room() noexcept {
    const std::uint64_t seen = over_.state->received.load();
    if (seen - received_ > sent_ - received_) broken_ = true;
    else received_ = seen;
    return broken_ ? 0 : ring_bytes - static_cast<std::size_t>(sent_ - received_);
}

void ring_sender::rewind_if_empty() noexcept {
    if (position() < rewound_from || (received_ != sent_ && (room(), received_ != sent_))) return;
    origin_ = sent_;
    over_.state->origin.store(origin_, std::memory_order_relaxed);
}

moved ring_sender::send(std::span<const std::span<const std::byte>> parts) noexcept {
    lacks_cell_ = false;
    rewind_if_empty();
    std::size_t whole = 0;
    for (const auto& part : parts) whole += part.size();
    const std::size_t chunk = std::clamp(whole / 4, least_chunk_bytes, chunk_bytes);
    std::size_t free = ring_bytes - static_cast<std::size_t>(sent_ - received_), total = 0, unpublished = 0;
    for (auto part : parts) {
        while (!part.empty()) {
            if (free < std::min(part.size(), split_grain)) free = room();
            const std::size_t at = position();
            std::size_t bytes = std::min({part.size(), free, ring_bytes - at, chunk});
            if (bytes == free && bytes < part.size()) bytes = bytes / split_grain * split_grain;
            if (bytes == 0) break;
            std::memcpy(over_.bytes + at, part.data(), bytes);
            part = part.subspan(bytes);
            sent_ += bytes;
            free -= bytes;
            total += bytes;
            unpublished += bytes;
            if (unpublished >= chunk) {
                over_.state->sent.store(sent_, std::memory_order_release);
                unpublished = 0;
            }
        }
        if (!part.empty()) break;
    }
    if (total > 0) over_.state->sent.store(sent_);
    return {total, broken_ ? make_error_code(error::protocol_error) : std::error_code()};
}

bool ring_sender::ready() noexcept { return lacks_cell_ ? cells_.has_room() || cells_.broken() : room() >= worthwhile_bytes || broken_; }

std::size_t ring_receiver::waiting() noexcept {
    const std::uint64_t seen = over_.state->sent.load();
    if (seen - received_ > ring_bytes || seen - received_ < sent_ - received_) broken_ = true;
    else sent_ = seen;
    if (sent_ != received_ && over_.state->origin.load(std::memory_order_relaxed) == received_) origin_ = received_;
    return broken_ ? 0 : static_cast<std::size_t>(sent_ - received_);
}

moved ring_receiver::recv(std::span<const std::span<std::byte>> parts, bool past_caches) noexcept {
    std::size_t there = static_cast<std::size_t>(sent_ - received_), total = 0;
    for (auto part : parts) {
        while (!part.empty()) {
            if (there == 0 && (there = waiting()) == 0) break;
            const std::size_t at = position();
            const std::size_t bytes = std::min({part.size(), there, ring_bytes - at, chunk_bytes});
            if (past_caches) copy_past_caches(part.data(), over_.bytes + at, bytes);
            else std::memcpy(part.data(), over_.bytes + at, bytes);
            if (keeps_pace_) take_over(over_.bytes + at, bytes);
            part = part.subspan(bytes);
            there -= bytes;
            total += bytes;
            advance(bytes);
        }
        if (!part.empty()) break;
    }
    return {total, total == 0 && broken_ ? make_error_code(error::protocol_error) : std::error_code()};
}

moved ring_receiver::peek(std::span<const std::byte>& run) noexcept {
    std::size_t there = static_cast<std::size_t>(sent_ - received_);
    if (there == 0) there = waiting();
    const std::size_t at = position();
    run = {over_.bytes + at, std::min(there, ring_bytes - at)};
    return {run.size(), there == 0 && broken_ ? make_error_code(error::protocol_error) : std::error_code()};
}

void ring_receiver::skip(std::size_t bytes) noexcept {
    if (keeps_pace_) take_over(over_.bytes + position(), bytes);
    advance(bytes);
}

void ring_receiver::advance(std::size_t bytes) noexcept {
    received_ += bytes;
    const bool may_rewind = received_ == sent_ && position() >= rewound_from;
    if (received_ - told_ < untold_bytes && !may_rewind) return;
    told_ = received_;
    over_.state->received.store(told_);
}

bool ring_receiver::must_wake() noexcept {
    if (over_.state->sender_sleeps.load() != 1) return false;
    if (ring_bytes - static_cast<std::size_t>(over_.state->sent.load() - told_) < worthwhile_bytes) return false;
    return over_.state->sender_sleeps.exchange(0) != 0;
}

}  // namespace tutti
