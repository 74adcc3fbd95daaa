#include "transport/cell_ring.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {

/// Copies into a cell from byte `at` behind its header on.
static void copy_in(cell& into, std::size_t at, std::span<const std::span<const std::byte>> behind) noexcept {
    for (auto part : behind) {
        TUTTI_CHECK(part.size() <= sizeof(cell_contents) - at, "a payload that is inline, or references");
        while (!part.empty()) {
            const bool first = at < cell::first_bytes;
            std::byte* const to = first ? into.first.data() + at : into.rest.data() + (at - cell::first_bytes);
            const std::size_t bytes = std::min(part.size(), (first ? cell::first_bytes : sizeof(cell_contents)) - at);
            std::memcpy(to, part.data(), bytes);
            part = part.subspan(bytes);
            at += bytes;
        }
    }
}

static std::uint8_t payload_of(const frame& head) noexcept {
    if (is_inline(head)) return static_cast<std::uint8_t>(head.payload_bytes);
    return static_cast<std::uint8_t>(cell::elsewhere | head.references | (head.in_place ? cell::in_place : 0) |
                                     (head.answered ? cell::answered : 0) | (is_wide(head) ? cell::wide : 0));
}

bool cell_sender::has_room() noexcept {
    if (sent_ - taken_ < cell_ring::capacity) return true;
    const std::uint32_t seen = over_->taken.load();
    if (seen - taken_ > sent_ - taken_) broken_ = true;
    else taken_ = seen;
    return !broken_ && sent_ - taken_ < cell_ring::capacity;
}

bool cell_sender::send(const frame& head, std::span<const std::span<const std::byte>> behind) noexcept {
    if (!has_room()) return false;
    cell& into = over_->cells[(sent_ + 1) % cell_ring::capacity];
    if (is_inline(head)) {
        copy_in(into, 0, behind);
    } else {
        std::memcpy(into.first.data(), &head.payload_bytes, cell::first_bytes);
        if (is_wide(head)) {
            const frame_header whole = encode(head);
            std::memcpy(into.rest.data(), whole.data(), whole.size());
        } else {
            copy_in(into, cell::first_bytes, behind);
        }
    }
    into.index = head.index;
    into.sequence = head.sequence;
    into.count = head.what.count;
    into.digest = head.what.digest;
    into.root = head.what.root;
    into.epoch = head.epoch;
    into.label = head.what.label;
    into.opaque_bytes = head.what.opaque_bytes;
    into.slice = static_cast<std::uint16_t>(head.slice);
    into.kind = static_cast<std::uint8_t>(static_cast<std::uint8_t>(head.kind) | (head.what.allocated ? cell::allocated : 0));
    into.payload = payload_of(head);
    into.what = {head.what.kind, head.what.type, head.what.op, head.what.algorithm};
    into.number.store(++sent_);
    return true;
}

bool cell_receiver::take(frame& head, cell_contents& behind) noexcept {
    if (!ready()) return false;
    const cell& from = next();
    const std::uint8_t payload = from.payload;  // read once: the peer could change it between the check and the use
    head = {};
    head.kind = static_cast<frame_kind>(from.kind & ~cell::allocated);
    head.epoch = from.epoch;
    head.sequence = from.sequence;
    head.index = from.index;
    head.slice = from.slice;
    head.what = {from.what[0], from.what[1], from.what[2],      from.what[3],
                 from.root,    from.count,   from.digest,       from.opaque_bytes,
                 (from.kind & cell::allocated) != 0};
    head.what.label = from.label & 0xff'ffff;
    if ((payload & cell::elsewhere) == 0) {
        head.payload_bytes = payload;
        std::memcpy(behind.data(), from.first.data(), cell::first_bytes);
        if (payload > cell::first_bytes) std::memcpy(behind.data() + cell::first_bytes, from.rest.data(), from.rest.size());
    } else {
        std::memcpy(&head.payload_bytes, from.first.data(), cell::first_bytes);
        if ((payload & (cell::wide | cell::count_mask)) != 0) std::memcpy(behind.data(), from.rest.data(), from.rest.size());
        if ((payload & cell::wide) != 0 && !decode(std::span<const std::byte>(behind).first<frame_bytes>(), head)) head.kind = frame_kind{};
        head.in_place = (payload & cell::in_place) != 0;
        head.answered = (payload & cell::answered) != 0;
        head.references = payload & cell::count_mask;
    }
    if (((payload & cell::elsewhere) == 0) != is_inline(head)) head.kind = frame_kind{};  // no sender makes such a cell
    if (++taken_ % cell_ring::untold == 0) over_->taken.store(taken_);
    return true;
}

}  // namespace tutti
