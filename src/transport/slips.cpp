#include "transport/slips.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {

static constexpr std::uint32_t low_half = 0xffff, most_opaque_bytes = 0xff'ffff;

/// Behind the first `at` bytes. False when it is too long.
static bool copy(slip& into, std::size_t at, std::span<const std::span<const std::byte>> behind) noexcept {
    for (auto part : behind) {
        if (part.size() > slip_bytes - at) return false;
        while (!part.empty()) {
            const bool first = at < slip::first_bytes;
            std::byte* const to = first ? into.first.data() + at : into.rest.data() + (at - slip::first_bytes);
            const std::size_t bytes = std::min(part.size(), (first ? slip::first_bytes : slip_bytes) - at);
            std::memcpy(to, part.data(), bytes);
            part = part.subspan(bytes);
            at += bytes;
        }
    }
    return true;
}

static std::uint8_t payload_of(const frame& head) noexcept {
    if (head.references == 0 && !head.in_place) return static_cast<std::uint8_t>(head.payload_bytes);
    return static_cast<std::uint8_t>(slip::elsewhere | head.references | (head.in_place ? slip::in_place : 0) |
                                     (head.answered ? slip::answered : 0));
}

bool slip_sender::send(const frame& head, std::span<const std::span<const std::byte>> behind, std::uint64_t stream) noexcept {
    if ((head.slice | head.place) > low_half || head.what.opaque_bytes > most_opaque_bytes) return false;
    if (sent_ - taken_ >= slip_board::places) taken_ = over_->taken.load(std::memory_order_acquire);
    if (sent_ - taken_ >= slip_board::places) return false;
    slip& into = over_->slips[(sent_ + 1) % slip_board::places];
    const bool elsewhere = head.references > 0 || head.in_place;
    if (elsewhere) std::memcpy(into.first.data(), &head.payload_bytes, slip::first_bytes);
    if (!copy(into, elsewhere ? slip::first_bytes : 0, behind)) return false;
    into.after = static_cast<std::uint32_t>(stream);
    into.sequence = head.sequence;
    into.count = head.what.count;
    into.digest = head.what.digest;
    into.root = head.what.root;
    into.epoch = head.epoch;
    into.place = head.place | static_cast<std::uint32_t>(head.what.label) << 16;
    into.opaque_bytes = head.what.opaque_bytes | static_cast<std::uint32_t>(head.what.label) >> 16 << 24;
    into.slice = static_cast<std::uint16_t>(head.slice);
    into.kind = static_cast<std::uint8_t>(static_cast<std::uint8_t>(head.kind) | (head.what.allocated ? slip::allocated : 0));
    into.payload = payload_of(head);
    into.what = {head.what.kind, head.what.type, head.what.op, head.what.algorithm};
    into.number.store(++sent_);
    return true;
}

bool slip_receiver::ready(std::uint64_t stream) const noexcept {
    const slip& from = next();
    return from.number.load() == taken_ + 1 && from.after == static_cast<std::uint32_t>(stream);
}

bool slip_receiver::take(frame& head, slip_contents& behind, std::uint64_t stream) noexcept {
    if (!ready(stream)) return false;
    const slip& from = next();
    const std::uint8_t payload = from.payload;
    head = {};
    head.kind = static_cast<frame_kind>(from.kind & ~slip::allocated);
    head.epoch = from.epoch;
    head.sequence = from.sequence;
    const std::uint32_t place = from.place, opaque_bytes = from.opaque_bytes;
    head.place = place & low_half;
    head.slice = from.slice;
    head.what = {from.what[0],
                 from.what[1],
                 from.what[2],
                 from.what[3],
                 from.root,
                 from.count,
                 from.digest,
                 opaque_bytes & most_opaque_bytes,
                 (from.kind & slip::allocated) != 0};
    head.what.label = (place >> 16 | opaque_bytes >> 24 << 16) & 0xff'ffff;
    if ((payload & slip::elsewhere) != 0) {
        head.in_place = (payload & slip::in_place) != 0;
        head.answered = (payload & slip::answered) != 0;
        head.references = payload & slip::count_mask;
        std::memcpy(&head.payload_bytes, from.first.data(), slip::first_bytes);
        std::memcpy(behind.data(), from.rest.data(), from.rest.size());
    } else {
        head.payload_bytes = payload;
        std::memcpy(behind.data(), from.first.data(), slip::first_bytes);
        if (payload > slip::first_bytes) std::memcpy(behind.data() + slip::first_bytes, from.rest.data(), from.rest.size());
    }
    if (++taken_ % slip_board::untold == 0) over_->taken.store(taken_, std::memory_order_release);
    return true;
}

}  // namespace tutti
