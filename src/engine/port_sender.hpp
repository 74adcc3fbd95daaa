// The sending side of a port.
#pragma once

#include "engine/lane_set.hpp"

namespace tutti {

class engine;

/// Gives a port's lanes the frames that operations send to its peer: one operation after the other, each slice as soon as it may leave.
/// Used with the engine's guard held.
class port_sender {
public:
    port_sender(engine& owner, lane_set& lanes) noexcept : owner_(owner), lanes_(lanes) {}

    /// Puts a channel of an operation that begins behind those of earlier operations.
    void add(send_channel& next) noexcept {
        next.over = this;
        queue_.push(next);
    }
    /// Gives the lanes every frame that may be sent now.
    void feed() noexcept {
        if (feeding_) return;  // called from `sent`, inside of a loop that looks again
        if (lanes_.alone()) feed_alone();
        else feed_together();
    }
    void sent(send_channel& which) noexcept;
    void sent(parcel& which) noexcept;
    /// Returns the first operation that has frames left for a lane; null if there is none.
    const operation* waiting() const noexcept { return queue_.empty() ? nullptr : &queue_.first()->at.of(); }
    /// Returns the operation whose last frame the only lane has, and has not sent; null if there is none.
    const operation* given() const noexcept { return given_ ? &given_->at.of() : nullptr; }
    /// Forgets every operation.
    void stop() noexcept;

private:
    void feed_alone() noexcept;
    bool send_now(lane& over, send_channel& next) noexcept;
    void feed_together() noexcept;

    engine& owner_;
    lane_set& lanes_;
    linked_queue<send_channel, &send_channel::turn> queue_;
    send_channel* given_ = nullptr;
    bool feeding_ = false;
};

}  // namespace tutti
