#include "transport/slips.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tutti {

static void copy_payload(slip& into, std::span<const std::span<const std::byte>> payload) noexcept {
    std::size_t at = 0;
    for (auto part : payload) {
        while (!part.empty()) {
            const bool first = at < slip::first_bytes;
            std::byte* const to = first ? into.first.data() + at : into.rest.data() + at - slip::first_bytes;
            const std::size_t bytes = std::min(part.size(), (first ? slip::first_bytes : slip_bytes) - at);
            std::memcpy(to, part.data(), bytes);
            part = part.subspan(bytes);
            at += bytes;
        }
    }
}

bool slip_sender::send(const frame& head, std::span<const std::span<const std::byte>> payload, std::uint64_t stream) noexcept {
    if (head.payload_bytes > slip_bytes || head.slice > std::numeric_limits<std::uint16_t>::max()) return false;
    if (sent_ - taken_ >= slip_board::places) taken_ = over_->taken.load(std::memory_order_acquire);
    if (sent_ - taken_ >= slip_board::places) return false;
    slip& into = over_->slips[++sent_ % slip_board::places];
    into.after = static_cast<std::uint32_t>(stream);
    into.sequence = head.sequence;
    into.count = head.what.count;
    into.digest = head.what.digest;
    into.root = head.what.root;
    into.epoch = head.epoch;
    into.place = head.place;
    into.opaque_bytes = head.what.opaque_bytes;
    into.slice = static_cast<std::uint16_t>(head.slice);
    into.kind = head.kind;
    into.payload_bytes = static_cast<std::uint8_t>(head.payload_bytes);
    into.what = {head.what.kind, head.what.type, head.what.op, head.what.algorithm};
    copy_payload(into, payload);
    into.number.store(sent_);
    return true;
}

bool slip_receiver::ready(std::uint64_t stream) const noexcept {
    const slip& from = next();
    return from.number.load() == taken_ + 1 && from.after == static_cast<std::uint32_t>(stream);
}

bool slip_receiver::take(frame& head, slip_payload& payload, std::uint64_t stream) noexcept {
    if (!ready(stream)) return false;
    const slip& from = next();
    head = {};
    head.kind = from.kind;
    head.epoch = from.epoch;
    head.sequence = from.sequence;
    head.place = from.place;
    head.slice = from.slice;
    head.payload_bytes = std::min<std::size_t>(from.payload_bytes, slip_bytes);
    head.what = {from.what[0], from.what[1], from.what[2], from.what[3], from.root, from.count, from.digest, from.opaque_bytes};
    std::memcpy(payload.data(), from.first.data(), slip::first_bytes);
    if (head.payload_bytes > slip::first_bytes) std::memcpy(payload.data() + slip::first_bytes, from.rest.data(), from.rest.size());
    if (++taken_ % slip_board::untold == 0) over_->taken.store(taken_, std::memory_order_release);
    return true;
}

}  // namespace tutti
