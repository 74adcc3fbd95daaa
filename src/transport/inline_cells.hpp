// Short frames beside a stream in shared memory. Through the ring a frame of a few bytes costs three cache lines, one after the other: the
// ring's position, the header, what stands behind it. An inline cell is one line that tells of itself that it is there, and a second one for what
// does not fit there: a longer payload, or the references to one that is lent.
#pragma once

#include "transport/frame.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

/// The most that stands behind the header in an inline cell.
inline constexpr std::size_t cell_payload_bytes = 72;
using cell_payload = std::array<std::byte, cell_payload_bytes>;

/// A frame as it lies in memory, for processes of one host.
struct alignas(64) inline_cell {
    static constexpr std::size_t first_bytes = 8;
    // Instead of a payload's size, of those that stand somewhere else; and how many references lead there.
    static constexpr std::uint8_t elsewhere = 0x80, in_place = 0x40, answered = 0x20, count_mask = 0x07;
    static constexpr std::uint8_t allocated = 0x80;  // beside the kind

    // Counts the inline cells of its direction, from 1 on. Written last, and in one order for all with the wishes to be woken (ring_state).
    std::atomic<std::uint32_t> number{0};
    std::uint32_t after = 0;  // the bytes that the stream had taken before, less multiples of 2^32
    std::uint64_t sequence = 0;
    std::uint64_t count = 0;
    std::uint64_t digest = 0;
    std::int32_t root = 0;
    std::uint32_t epoch = 0;
    std::uint32_t index = 0;         // in its low half, with the low half of the label's digest above it
    std::uint32_t opaque_bytes = 0;  // in its low 24 bits, with the rest of the digest above them
    std::uint16_t slice = 0;
    std::uint8_t kind = 0;                                 // of the frame; and whether the caller says that its memory is allocated
    std::uint8_t payload = 0;                              // its size
    std::array<std::uint8_t, 4> what{};                    // collective, type, operator, algorithm
    std::array<std::byte, first_bytes> first;              // of the payload; or the size of one that stands elsewhere
    std::array<std::byte, cell_payload_bytes - first_bytes> rest;  // of the payload, or the references
};
static_assert(sizeof(inline_cell) == 128 && offsetof(inline_cell, rest) == 64);

/// One direction's. An inline cell is free again when the receiver has taken it, which it tells now and then only.
struct cell_ring {
    static constexpr std::uint32_t capacity = 32;
    static constexpr std::uint32_t untold = 8;

    std::array<inline_cell, capacity> cells;
    alignas(64) std::atomic<std::uint32_t> taken{0};  // by the receiver
};

class cell_sender {
public:
    explicit cell_sender(cell_ring& over) noexcept : over_(&over) {}

    /// `behind`: what stands behind the header. False when there is no place for it, it is too long, or a number in it is too high for a
    /// inline cell: then it goes through the stream, which has taken so many bytes so far.
    bool send(const frame& head, std::span<const std::span<const std::byte>> behind, std::uint64_t stream) noexcept;

private:
    cell_ring* over_;
    std::uint32_t sent_ = 0;
    std::uint32_t taken_ = 0;  // as last seen
};

class cell_receiver {
public:
    explicit cell_receiver(cell_ring& over) noexcept : over_(&over) {}

    /// Whether the next inline cell comes where the stream is now.
    bool ready(std::uint64_t stream) const noexcept;
    /// Takes that.
    bool take(frame& head, cell_payload& behind, std::uint64_t stream) noexcept;

private:
    inline_cell& next() const noexcept { return over_->cells[(taken_ + 1) % cell_ring::capacity]; }

    cell_ring* over_;
    std::uint32_t taken_ = 0;
};

}  // namespace tutti
