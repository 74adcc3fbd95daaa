// The receiver of a lane's frames: it says where each arriving payload goes.
#pragma once

#include "transport/frame.hpp"
#include "transport/outgoing.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

namespace tutti {

/// Where an arriving payload goes.
enum class landing {
    here,         // into the runs that the owner has appended, head.payload_bytes in all
    past_caches,  // the same, and no step reads it there soon
    through,      // the owner takes it part by part, where the link shows it; only from a lane that is `near`
    park,         // nothing is read until `lane::resume`, then the owner is asked again: back-pressure for a frame that came too early
    refuse        // the lane ends: it reads and sends nothing more
};

/// The receiver of a lane's frames: a port_lane of the engine, a message_port of the messenger, or the group's control tree. The lane calls
/// it with the guard held unless said otherwise.
class lane_owner {
public:
    /// A frame's header has arrived: where shall the payload go?
    virtual landing arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept = 0;
    /// A short frame has arrived, and all of its payload. Returns false, and has done nothing, when `arrived` is to be asked instead.
    virtual bool taken(const frame& head, std::span<const std::byte> payload) noexcept {
        return static_cast<void>(head), static_cast<void>(payload), false;
    }
    /// Takes the part of a payload that begins at `offset`. Writes the result to `back`, too, if that is not null; it may be the part's own
    /// memory. Returns how many bytes it took, whole elements. A spread lane calls it without the guard.
    virtual std::size_t through(const frame& head, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept {
        return static_cast<void>(head), static_cast<void>(offset), static_cast<void>(part), static_cast<void>(back), 0;
    }
    /// Only from a spread lane, without the guard: a payload has landed whole. Long work on it alone belongs here, since other lanes go on.
    virtual void settle(const frame& head) noexcept { static_cast<void>(head); }
    virtual void landed(const frame& head) noexcept = 0;
    /// Returns whether the sum that `through` makes of the payload is the content of frame `index`, the answer. Then `through` also writes
    /// it where the peer wants it, and that frame needs no payload.
    virtual bool answers(const frame& head, std::uint32_t index) noexcept { return static_cast<void>(head), static_cast<void>(index), false; }
    /// The payload was lent, and the peer wants an answer: frame `what.index` may be written straight to `what.parts`.
    virtual void lent(const frame& head, const remote_reference& what) noexcept { static_cast<void>(head), static_cast<void>(what); }
    /// Returns whether the owner expects a frame, so that the loop tries the link again before it sleeps.
    virtual bool awaits() const noexcept { return false; }
    /// The stream ended, failed, or carried bytes that are no frame. Called once.
    virtual void lost(std::error_code why) noexcept = 0;

protected:
    ~lane_owner() = default;
};

}  // namespace tutti
