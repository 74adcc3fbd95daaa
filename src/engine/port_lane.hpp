// One lane of a port: the frame of the port that it is sending, and what is arriving on it.
#pragma once

#include "engine/bounce.hpp"
#include "engine/operation.hpp"
#include "transport/lane.hpp"

#include <array>
#include <memory>

namespace tutti {

/// A frame on its way over one of several lanes. Where there is one lane a send_channel is its own frame.
class parcel final : public outgoing {
public:
    void gather(std::vector<std::span<const std::byte>>& runs) const override { at.of().runs_of(at.step(), at.slice(), runs); }
    void sent() noexcept override;

    send_channel* from = nullptr;  // null: nothing is under way
    cursor at;
};

class goodbye_frame final : public outgoing {
public:
    void gather(std::vector<std::span<const std::byte>>&) const override {}
    void sent() noexcept override {}
};

/// Used with the engine's guard held; what a spread lane does without it touches nothing but the payload that is landing.
class port_lane final : public lane_owner {
public:
    port_lane(port& owner, int index) : owner_(owner), index_(index) {}

    int index() const noexcept { return index_; }
    void attach(event_loop& loop, std::mutex& guard, std::unique_ptr<link> link, lane::kind how, cork& together) {
        over = std::make_unique<lane>(loop, guard, std::move(link), *this, how, &together);
    }
    bounce* free_bounce(std::size_t bytes);
    bounce* bounce_of(const operation& whose, int step, std::size_t slice) noexcept;
    /// Whether this slice has come, and is parked.
    bool holds(const operation& of, int step, std::size_t slice) const noexcept {
        return parked && due && &at.of() == &of && at.step() == step && at.slice() == slice;
    }
    /// Forgets every operation and touches no payload any more.
    void stop() noexcept;

    std::unique_ptr<lane> over;  // null until it is made
    parcel outgoing;
    goodbye_frame goodbye;
    recv_channel* into = nullptr;  // whose frame is landing
    cursor at;                     // which of its frames that is
    std::uint32_t frame_index = 0;
    bounce* filling = nullptr;  // it lands there, to be reduced
    bool parked = false;
    bool due = false;       // `at` is what is parked
    bool met = false;       // what is parked has been combined already, together with what others have lent
    bool answered = false;  // and the result has been written where the peer wants it
    bool lost_link = false;
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
    // Two: one slice may arrive while the one before waits for its round's sends. Each lane has its own: its slices come in order, so the
    // first that others wait for never waits for a bounce that a later one holds.
    std::array<bounce, 2> bounces_;
};

}  // namespace tutti
