#include "transport/inline_cells.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {

/// The largest numbers for which a cell has bits.
static constexpr std::uint32_t low_half = 0xffff, most_opaque_bytes = 0xff'ffff;

/// Copies into a cell's payload from byte `at` on. Returns false when that is too long.
static bool copy(inline_cell& into, std::size_t at, std::span<const std::span<const std::byte>> behind) noexcept {
    for (auto part : behind) {
        if (part.size() > cell_payload_bytes - at) return false;
        while (!part.empty()) {
            const bool first = at < inline_cell::first_bytes;
            std::byte* const to = first ? into.first.data() + at : into.rest.data() + (at - inline_cell::first_bytes);
            const std::size_t bytes = std::min(part.size(), (first ? inline_cell::first_bytes : cell_payload_bytes) - at);
            std::memcpy(to, part.data(), bytes);
            part = part.subspan(bytes);
            at += bytes;
        }
    }
    return true;
}

static std::uint8_t payload_of(const frame& head) noexcept {
    if (head.references == 0 && !head.in_place) return static_cast<std::uint8_t>(head.payload_bytes);
    return static_cast<std::uint8_t>(inline_cell::elsewhere | head.references | (head.in_place ? inline_cell::in_place : 0) |
                                     (head.answered ? inline_cell::answered : 0));
}

bool cell_sender::send(const frame& head, std::span<const std::span<const std::byte>> behind, std::uint64_t stream) noexcept {
    if ((head.slice | head.index) > low_half || head.what.opaque_bytes > most_opaque_bytes) return false;
    if (sent_ - taken_ >= cell_ring::capacity) taken_ = over_->taken.load(std::memory_order_acquire);
    if (sent_ - taken_ >= cell_ring::capacity) return false;
    inline_cell& into = over_->cells[(sent_ + 1) % cell_ring::capacity];
    const bool elsewhere = head.references > 0 || head.in_place;
    if (elsewhere) std::memcpy(into.first.data(), &head.payload_bytes, inline_cell::first_bytes);
    if (!copy(into, elsewhere ? inline_cell::first_bytes : 0, behind)) return false;
    into.after = static_cast<std::uint32_t>(stream);
    into.sequence = head.sequence;
    into.count = head.what.count;
    into.digest = head.what.digest;
    into.root = head.what.root;
    into.epoch = head.epoch;
    into.index = head.index | static_cast<std::uint32_t>(head.what.label) << 16;
    into.opaque_bytes = head.what.opaque_bytes | static_cast<std::uint32_t>(head.what.label) >> 16 << 24;
    into.slice = static_cast<std::uint16_t>(head.slice);
    into.kind = static_cast<std::uint8_t>(static_cast<std::uint8_t>(head.kind) | (head.what.allocated ? inline_cell::allocated : 0));
    into.payload = payload_of(head);
    into.what = {head.what.kind, head.what.type, head.what.op, head.what.algorithm};
    into.number.store(++sent_);
    return true;
}

bool cell_receiver::ready(std::uint64_t stream) const noexcept {
    const inline_cell& from = next();
    return from.number.load() == taken_ + 1 && from.after == static_cast<std::uint32_t>(stream);
}

bool cell_receiver::take(frame& head, cell_payload& behind, std::uint64_t stream) noexcept {
    if (!ready(stream)) return false;
    const inline_cell& from = next();
    const std::uint8_t payload = from.payload;
    head = {};
    head.kind = static_cast<frame_kind>(from.kind & ~inline_cell::allocated);
    head.epoch = from.epoch;
    head.sequence = from.sequence;
    const std::uint32_t index = from.index, opaque_bytes = from.opaque_bytes;
    head.index = index & low_half;
    head.slice = from.slice;
    head.what = {from.what[0],
                 from.what[1],
                 from.what[2],
                 from.what[3],
                 from.root,
                 from.count,
                 from.digest,
                 opaque_bytes & most_opaque_bytes,
                 (from.kind & inline_cell::allocated) != 0};
    head.what.label = (index >> 16 | opaque_bytes >> 24 << 16) & 0xff'ffff;
    if ((payload & inline_cell::elsewhere) != 0) {
        head.in_place = (payload & inline_cell::in_place) != 0;
        head.answered = (payload & inline_cell::answered) != 0;
        head.references = payload & inline_cell::count_mask;
        std::memcpy(&head.payload_bytes, from.first.data(), inline_cell::first_bytes);
        std::memcpy(behind.data(), from.rest.data(), from.rest.size());
    } else {
        head.payload_bytes = payload;
        std::memcpy(behind.data(), from.first.data(), inline_cell::first_bytes);
        if (payload > inline_cell::first_bytes) std::memcpy(behind.data() + inline_cell::first_bytes, from.rest.data(), from.rest.size());
    }
    if (++taken_ % cell_ring::untold == 0) over_->taken.store(taken_, std::memory_order_release);
    return true;
}

}  // namespace tutti
