// One peer's end of the lanes of one kind.
#pragma once

#include "engine/port_receiver.hpp"
#include "engine/port_sender.hpp"

#include <memory>
#include <string>

namespace tutti {

/// Joins the lanes of one kind to one peer with the two queues of operations that send and receive there, and knows when that peer has left.
/// Used with the engine's guard held. The engine adds channels when an operation begins (`add`). After each progress it lets the port send
/// (`feed`) and take parked frames (`resume`). The lanes ask the receiver about every frame that arrives. A port never begins or ends an
/// operation.
///
///     engine::begin --add--> port_sender --feed, send_now--> lane      lane --arrived, taken--> port_receiver --landed--> operation::advance
///
/// Several bulk lanes share the frames of a port. A frame says its index: it lands at once, and counts when all frames before it have
/// landed.
class port final {
public:
    port(engine& owner, rank peer, lane_kind kind, int lanes);
    port(const port&) = delete;
    port& operator=(const port&) = delete;

    port_sender& sender() noexcept { return sender_; }
    port_receiver& receiver() noexcept { return receiver_; }
    bool attached(int index) noexcept { return lanes_[index].over != nullptr; }
    bool left() const noexcept { return left_; }
    /// Returns the link's other end, in words; empty without a lane.
    std::string route() const { return lanes_.route(); }
    bool busy() const noexcept { return sender_.waiting() || receiver_.awaits() || !lanes_.flushed(); }

    void attach(int index, std::unique_ptr<link> over);
    /// Puts a channel of an operation that begins behind those of earlier operations.
    void add(send_channel& next) noexcept { sender_.add(next); }
    void add(recv_channel& next) noexcept { receiver_.add(next); }
    void say_goodbye() noexcept;
    /// No goodbye will come over this lane, but the peer has said it elsewhere.
    void departed(int index) noexcept;
    /// Fails the engine, if an operation waits for this peer, which has left.
    void miss() noexcept;
    /// Forgets every operation and touches no payload any more.
    void stop() noexcept;
    void close() noexcept;
    /// Lets lanes on `loop` send what can be sent at once, and closes them. On that loop, or when no thread runs it.
    void part(event_loop& loop) noexcept;

    // For port lanes.
    void peer_left(port_lane& on) noexcept;
    void lost(port_lane& on, std::error_code why) noexcept;
    /// The peer has said where it wants a frame that is still to be sent.
    void lent(port_lane& on, const remote_reference& what) noexcept;

private:
    const operation* missed() noexcept;
    void say_goodbye(port_lane& on) noexcept;

    engine& owner_;
    const rank peer_;
    const lane_kind kind_;
    lane_set lanes_;
    port_sender sender_;
    port_receiver receiver_;
    bool left_ = false;  // nothing comes any more, over any lane
};

}  // namespace tutti
