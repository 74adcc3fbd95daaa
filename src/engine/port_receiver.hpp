// The receiving side of a port.
#pragma once

#include "engine/lane_set.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tutti {

class engine;

/// Compares each frame that arrives with the plan of its operation, says where its payload lands, and counts it. A frame that the plan does
/// not contain fails the engine. Used with the engine's guard held.
class port_receiver {
public:
    port_receiver(engine& owner, rank peer, lane_kind kind, lane_set& lanes) noexcept
        : owner_(owner),
          peer_(peer),
          kind_(kind),
          lanes_(lanes) {}

    /// Puts a channel of an operation that begins behind those of earlier operations.
    void add(recv_channel& next) noexcept;
    bool awaits() const noexcept { return !queue_.empty(); }
    /// Returns the first operation that waits for a frame from here; null if there is none.
    const operation* waiting() const noexcept { return queue_.empty() ? nullptr : &queue_.first()->at.of(); }
    /// Takes a frame that is there already, without waiting for the loop to try.
    void look() noexcept {
        if (lanes_.alone() && lanes_.front().over) lanes_.front().over->look();
    }
    /// An operation has moved on: asks again about parked frames of operations that have begun.
    void resume() noexcept {
        if (std::exchange(parked_, false)) lanes_.resume(true);
    }
    /// Operations have begun: asks again about parked frames that came before.
    void resume_ahead() noexcept {
        if (std::exchange(ahead_, false)) lanes_.resume(false);
    }
    lane_set& lanes() noexcept { return lanes_; }
    /// Forgets every operation.
    void stop() noexcept { queue_.clear(); }

    // For port lanes.

    /// Says where a frame shall land: see `expected`, `without_receiver` and `land` for the branches.
    landing arrived(port_lane& on, const frame& head, std::vector<std::span<std::byte>>& runs) noexcept;
    /// Takes a short frame with its payload, if it is exactly the next one expected here, and may begin. Returns whether it did. All other
    /// frames, and all errors, take the way over `arrived`.
    bool taken(const frame& head, std::span<const std::byte> payload) noexcept;
    void landed(port_lane& on, const frame& head) noexcept;

private:
    recv_channel* receiver_of(std::uint64_t sequence) noexcept;
    bool is_new(const recv_channel& whose, std::uint32_t index) const noexcept;
    landing expected(port_lane& on, recv_channel& whose, const frame& head, std::vector<std::span<std::byte>>& runs) noexcept;
    landing land(port_lane& on, std::size_t bytes, std::vector<std::span<std::byte>>& runs) noexcept;
    landing without_receiver(const frame& head) noexcept;
    bool combined(port_lane& on) noexcept;
    landing disagreed(const call_signature& mine, const frame& head) noexcept;
    landing miscounted(const operation& of, const frame& head, std::size_t bytes) noexcept;
    landing refuse(error code, std::string cause) noexcept;

    engine& owner_;
    const rank peer_;
    const lane_kind kind_;
    lane_set& lanes_;
    linked_queue<recv_channel, &recv_channel::turn> queue_;
    bool parked_ = false;  // a lane keeps a frame of an operation that has begun
    bool ahead_ = false;   // or of one that has not
};

}  // namespace tutti
