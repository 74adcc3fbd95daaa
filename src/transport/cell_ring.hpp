// The frames of one direction in shared memory, each in a cell. A cell's first line holds the header, and up to 8 bytes of a payload; its
// number says that it is there. So a short frame costs its receiver one cache line. The other two lines hold the rest of a short payload,
// or the references to one that is lent. A longer payload follows in the ring of bytes beside the cells.
#pragma once

#include "transport/frame.hpp"
#include "transport/reference.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

/// The most bytes of a payload in its frame's cell.
inline constexpr std::size_t most_inline_bytes = 120;
/// The bytes behind a header in a cell: the payload, or the references that stand in its place.
using cell_contents = std::array<std::byte, 136>;

/// Returns the bytes of the references that stand in place of a lent payload, and of one more if an answer is wanted.
constexpr std::size_t reference_bytes(const frame& head) noexcept {
    return (head.references + (head.answered ? 1U : 0U)) * sizeof(reference);
}

/// A frame in its host's byte order, as it lies in shared memory.
struct alignas(64) cell {
    static constexpr std::size_t first_bytes = 8;
    // In `payload`, instead of a size, where the payload is not in the cell. Without in_place and references it follows in the ring.
    static constexpr std::uint8_t elsewhere = 0x80, in_place = 0x40, answered = 0x20, wide = 0x10, count_mask = 0x07;
    static constexpr std::uint8_t allocated = 0x80;  // in `kind`

    // Counts the cells of its direction, from 1. Written last, and sequentially consistent with the wishes to be woken (ring_state).
    std::atomic<std::uint32_t> number{0};
    std::uint32_t index = 0;
    std::uint64_t sequence = 0;
    std::uint64_t count = 0;
    std::uint64_t digest = 0;
    std::int32_t root = 0;
    std::uint32_t epoch = 0;
    std::uint32_t label = 0;
    std::uint32_t opaque_bytes = 0;
    std::uint16_t slice = 0;
    std::uint8_t kind = 0;                               // frame_kind, and `allocated`
    std::uint8_t payload = 0;                            // its size, or the bits above
    std::array<std::uint8_t, 4> what{};                  // collective, type, operator, algorithm
    std::array<std::byte, first_bytes> first;            // of the payload; or the size of one that is elsewhere
    std::array<std::byte, sizeof(cell_contents) - first_bytes> rest;  // of the payload; or the references; or the header, if wide
};
static_assert(sizeof(cell) == 192 && offsetof(cell, rest) == 64 && frame_bytes <= sizeof(cell::rest));
static_assert((most_references + 1) * sizeof(reference) <= sizeof(cell::rest) && most_inline_bytes < cell::elsewhere);

/// Returns whether a number of the header has no room in a cell's first line. Then the cell holds the header as it is on the wire.
constexpr bool is_wide(const frame& head) noexcept { return head.slice > 0xffff; }
/// Returns whether the payload stands in the frame's cell.
constexpr bool is_inline(const frame& head) noexcept {
    return head.payload_bytes <= most_inline_bytes && head.references == 0 && !head.in_place && !is_wide(head);
}

/// Returns whether the payload follows in the ring of bytes.
constexpr bool is_followed(const frame& head) noexcept {
    return head.payload_bytes > 0 && head.references == 0 && !head.in_place && !is_inline(head);
}

/// The cells of one direction. A cell is free again when the receiver has published that it has taken it.
struct cell_ring {
    static constexpr std::uint32_t capacity = 128;  // 24 KiB: as many frames may be on their way
    static constexpr std::uint32_t untold = 16;     // published in such steps, so that `taken` moves between the cores seldom

    std::array<cell, capacity> cells;
    alignas(64) std::atomic<std::uint32_t> taken{0};  // by the receiver; sequentially consistent with the wishes to be woken
};

class cell_sender {
public:
    explicit cell_sender(cell_ring& over) noexcept : over_(&over) {}

    /// Returns whether a cell is free.
    bool has_room() noexcept;
    /// Returns whether the receiver has published what it cannot have taken. No cell is free then, for good.
    bool broken() const noexcept { return broken_; }
    /// Sends a frame: with its payload if it `is_inline`, with its references if it has any, else without anything behind the header.
    /// Returns false when no cell is free.
    bool send(const frame& head, std::span<const std::span<const std::byte>> behind) noexcept;

private:
    cell_ring* over_;
    std::uint32_t sent_ = 0;
    std::uint32_t taken_ = 0;  // as last seen
    bool broken_ = false;
};

class cell_receiver {
public:
    explicit cell_receiver(cell_ring& over) noexcept : over_(&over) {}

    /// Returns whether the next cell is there.
    bool ready() const noexcept { return next().number.load() == taken_ + 1; }
    /// Takes it. Returns false when it is not there. A header that cannot be is not `is_possible`.
    bool take(frame& head, cell_contents& behind) noexcept;
    /// Returns whether the last `take` has published free cells.
    bool has_published() const noexcept { return taken_ % cell_ring::untold == 0; }

private:
    const cell& next() const noexcept { return over_->cells[(taken_ + 1) % cell_ring::capacity]; }

    cell_ring* over_;
    std::uint32_t taken_ = 0;
};

}  // namespace tutti
