#include "engine/port_lane.hpp"

#include "engine/meeting.hpp"
#include "engine/operation.hpp"
#include "engine/port.hpp"

#include <cstring>

namespace tutti {

void parcel::gather(std::vector<std::span<const std::byte>>& runs) const { at.of().memory().runs_of(at.step(), at.slice(), runs); }

void parcel::sent() noexcept { from->over->sent(*this); }

landing port_lane::arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    return owner_.receiver().arrived(*this, head, runs);
}
bool port_lane::taken(const frame& head, std::span<const std::byte> payload) noexcept { return owner_.receiver().taken(head, payload); }
void port_lane::landed(const frame& head) noexcept {
    if (head.kind == frame_kind::goodbye) owner_.peer_left(*this);
    else owner_.receiver().landed(*this, head);
}
void port_lane::lent(const frame& head, const remote_reference& what) noexcept {
    if (head.kind == frame_kind::data) owner_.lent(*this, what);
}
bool port_lane::awaits() const noexcept { return owner_.receiver().awaits(); }

/// A user's operator never writes answers: it may take long, and a peer that revokes its memory would wait for it.
bool port_lane::answers(const frame& head, std::uint32_t index_of_answer) noexcept {
    if (met) return answered;
    return head.kind == frame_kind::data && !at.of().asked.op.user() && at.of().sum_of(at.step(), at.slice()) == index_of_answer;
}

std::size_t port_lane::through(const frame&, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept {
    if (at.of().program().reduces_together(at.step())) return combine_together(*this, offset, part, back);
    const std::size_t element = at.of().asked.element_bytes();
    if (reinterpret_cast<std::uintptr_t>(part.data()) % element == 0) return at.of().reduce(at.step(), at.slice(), offset, part, back);
    // The ring holds bytes of smaller elements before these, so the part is copied to aligned memory. The next long transfer is aligned
    // again.
    alignas(64) std::byte aligned[4 * KiB];
    part = part.first(std::min(part.size(), sizeof aligned));
    std::memcpy(aligned, part.data(), part.size());
    return at.of().reduce(at.step(), at.slice(), offset, {aligned, part.size()}, back);
}

/// Reduces a whole slice without the guard. A thread that ends the operation waits for it, in `lane::stop`. A user's operator is left to
/// `landed`, which calls it with the guard held, one call at a time.
void port_lane::settle(const frame& head) noexcept {
    if (head.kind != frame_kind::data || !filling) return;
    operation& of = at.of();
    if (!of.reduces_at_once(at.step()) || of.asked.op.user()) return;
    of.reduce(at.step(), at.slice(), filling->data.get());
    filling->settled = true;
}

void port_lane::lost(std::error_code why) noexcept {
    broken = true;
    owner_.lost(*this, why);
}

bounce* port_lane::free_bounce(std::size_t bytes) {
    for (bounce& each : bounces_) {
        if (each.of) continue;
        each.settled = false;
        if (each.capacity < bytes) {
            each.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
            each.capacity = bytes;
        }
        return &each;
    }
    return nullptr;
}

bounce* port_lane::bounce_of(const operation& whose, int step, std::size_t slice) noexcept {
    for (bounce& each : bounces_)
        if (each.holds(whose, step, slice)) return &each;
    return nullptr;
}

void port_lane::stop() noexcept {
    if (over) over->stop();  // first: a spread lane may be using the rest
    outgoing.from = nullptr;
    into = nullptr;
    met = false;
    for (bounce& each : bounces_) each.of = nullptr;
}

}  // namespace tutti
