// Short frames beside a stream in shared memory. Through the ring a frame of a few bytes costs three cache lines, one after the other: the
// position, the header, the payload. An inline cell is one line whose number says that it is there. A second line takes the rest: a longer
// payload, or the references to one that is lent.
#pragma once

#include "transport/frame.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

/// The most bytes behind the header in an inline cell: 8 in its first line, 64 in its second.
inline constexpr std::size_t cell_payload_bytes = 72;
using cell_payload = std::array<std::byte, cell_payload_bytes>;

/// A frame in its host's byte order, as it lies in shared memory.
struct alignas(64) inline_cell {
    static constexpr std::size_t first_bytes = 8;
    // In `payload`, instead of a size, where the payload is lent or in place; count_mask has the number of references.
    static constexpr std::uint8_t elsewhere = 0x80, in_place = 0x40, answered = 0x20, count_mask = 0x07;
    static constexpr std::uint8_t allocated = 0x80;  // in `kind`

    // Counts the inline cells of its direction, from 1. Written last, and sequentially consistent with the wishes to be woken (ring_state).
    std::atomic<std::uint32_t> number{0};
    std::uint32_t after = 0;  // the bytes that the stream had taken before, modulo 2^32: the cell's place in the order
    std::uint64_t sequence = 0;
    std::uint64_t count = 0;
    std::uint64_t digest = 0;
    std::int32_t root = 0;
    std::uint32_t epoch = 0;
    std::uint32_t index = 0;         // 16 bits, with the low 16 of the label's digest above
    std::uint32_t opaque_bytes = 0;  // 24 bits, with the high 8 of the digest above
    std::uint16_t slice = 0;
    std::uint8_t kind = 0;                                         // frame_kind, and `allocated`
    std::uint8_t payload = 0;                                      // its size, or the bits above
    std::array<std::uint8_t, 4> what{};                            // collective, type, operator, algorithm
    std::array<std::byte, first_bytes> first;                      // of the payload; or the size of one that is elsewhere
    std::array<std::byte, cell_payload_bytes - first_bytes> rest;  // of the payload; or the references
};
static_assert(sizeof(inline_cell) == 128 && offsetof(inline_cell, rest) == 64);

/// The inline cells of one direction. A cell is free again when the receiver has published that it has taken it.
struct cell_ring {
    static constexpr std::uint32_t capacity = 32;  // 4 KiB
    static constexpr std::uint32_t untold = 8;     // published in such steps, so that `taken` moves between the cores seldom

    std::array<inline_cell, capacity> cells;
    alignas(64) std::atomic<std::uint32_t> taken{0};  // by the receiver
};

class cell_sender {
public:
    explicit cell_sender(cell_ring& over) noexcept : over_(&over) {}

    /// Sends a frame with the bytes `behind` its header; `stream` is how many bytes the stream has taken so far. Returns false when no cell
    /// is free, the frame is too long, or a number in it does not fit: then it goes through the stream.
    bool send(const frame& head, std::span<const std::span<const std::byte>> behind, std::uint64_t stream) noexcept;

private:
    cell_ring* over_;
    std::uint32_t sent_ = 0;
    std::uint32_t taken_ = 0;  // as last seen
};

class cell_receiver {
public:
    explicit cell_receiver(cell_ring& over) noexcept : over_(&over) {}

    /// Returns whether the next inline cell comes before the stream's byte number `stream`.
    bool ready(std::uint64_t stream) const noexcept;
    /// Takes that cell. Returns false when it is not there.
    bool take(frame& head, cell_payload& behind, std::uint64_t stream) noexcept;

private:
    inline_cell& next() const noexcept { return over_->cells[(taken_ + 1) % cell_ring::capacity]; }

    cell_ring* over_;
    std::uint32_t taken_ = 0;
};

}  // namespace tutti
