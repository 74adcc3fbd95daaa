// One lane of a port: the frame that it sends, and the frame that arrives.
#pragma once

#include "engine/bounce.hpp"
#include "engine/channel.hpp"
#include "engine/lane_id.hpp"

#include <array>
#include <memory>

namespace tutti {

class port;

/// A frame on its way over one of several lanes: each lane sends one at a time. Over a single lane a send_channel is its own frame.
class parcel final : public outgoing {
public:
    void gather(std::vector<std::span<const std::byte>>& runs) const override;
    void sent() noexcept override;

    send_channel* from = nullptr;  // null: the lane is idle
    cursor at;
};

class goodbye_frame final : public outgoing {
public:
    void gather(std::vector<std::span<const std::byte>>&) const override {}
    void sent() noexcept override {}
};

/// Owns the lane, its outgoing frame and its two bounces, and stands between the lane and its port. It passes on what arrives, and combines
/// payloads while they are read. Used with the engine's guard held. A spread lane calls `through` and `settle` without it; these touch
/// nothing but the payload that is landing. It never decides what is expected: the port does.
class port_lane final : public lane_owner {
public:
    port_lane(port& owner, int index) : owner_(owner), index_(index) {}

    int index() const noexcept { return index_; }
    void attach(event_loop& loop, std::mutex& guard, std::unique_ptr<link> link, lane::kind how, cork& together) {
        over = make_lane(loop, guard, std::move(link), *this, how, &together);
    }
    /// Returns a bounce of at least `bytes`; null when both hold slices.
    bounce* free_bounce(std::size_t bytes);
    bounce* bounce_of(const operation& whose, int step, std::size_t slice) noexcept;
    /// Returns whether this slice has come, and is parked here.
    bool holds(const operation& of, int step, std::size_t slice) const noexcept {
        return parked && due && &at.of() == &of && at.step() == step && at.slice() == slice;
    }
    /// Forgets every operation and touches no payload any more.
    void stop() noexcept;

    std::unique_ptr<lane> over;  // null until the lane is made
    parcel outgoing;
    goodbye_frame goodbye;
    recv_channel* into = nullptr;  // whose frame is landing
    cursor at;                     // which of its frames that is
    std::uint32_t frame_index = 0;
    bounce* filling = nullptr;  // the frame lands there, to be reduced
    bool parked = false;
    bool due = false;       // the parked frame's operation has begun, and `at` says which frame it is
    bool met = false;       // the parked payload has been combined already, together with those of other peers
    bool answered = false;  // and the sum has been written where this peer wants it
    bool broken = false;    // the link has ended
    bool left = false;  // nothing will come any more: the peer has said goodbye

private:
    landing arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept override;
    bool taken(const frame& head, std::span<const std::byte> payload) noexcept override;
    std::size_t through(const frame& head, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept override;
    bool answers(const frame& head, std::uint32_t index) noexcept override;
    void settle(const frame& head) noexcept override;
    void landed(const frame& head) noexcept override;
    void lent(const frame& head, const remote_reference& what) noexcept override;
    bool awaits() const noexcept override;
    void lost(std::error_code why) noexcept override;

    port& owner_;
    const int index_;
    // Two: one slice may arrive while the one before waits for its round's sends. Each lane has its own. Its slices come in order, so the
    // first slice that a round waits for never waits for a bounce that a later one holds.
    std::array<bounce, 2> bounces_;
};

}  // namespace tutti
