// One peer's end of the lanes of one kind: which operations send and receive there, and in which order.
#pragma once

#include "engine/lane_id.hpp"
#include "engine/operation.hpp"
#include "engine/port_lane.hpp"

#include <limits>
#include <memory>
#include <vector>

namespace tutti {

/// Owns the lanes of one kind to one peer, and two queues of the operations' channels: those that send here, and those that receive. Used
/// with the engine's guard held. The engine adds channels when an operation begins (`add`). After each progress it lets the port send
/// (`feed`) and take parked frames (`resume`). The lanes ask the port about every frame that arrives. The port compares the header with the
/// operation's plan, and fails the engine where they differ. It never begins or ends an operation.
///
///     engine::begin --add--> senders_ --feed, send_now--> lane          lane --arrived, taken--> receivers_ --landed--> operation::advance
///
/// Several bulk lanes share the frames of a port. The next frame in order goes to an idle lane, so a slow lane takes fewer. A frame says
/// its index: it lands at once, and counts when all frames before it have landed.
class port final {
public:
    port(engine& owner, rank peer, lane_kind kind, int lanes);

    rank peer() const noexcept { return peer_; }
    lane_kind kind() const noexcept { return kind_; }
    bool attached(int index) const noexcept { return lanes_[static_cast<std::size_t>(index)]->over != nullptr; }
    bool left() const noexcept { return left_; }
    /// Returns the link's other end, in words; empty without a lane.
    std::string route() const;
    bool busy() const noexcept;

    void attach(int index, std::unique_ptr<link> over);
    bool awaited() const noexcept { return senders_.first || receivers_.first; }
    bool awaits() const noexcept { return receivers_.first != nullptr; }
    /// Puts a channel of an operation that begins behind those of earlier operations.
    void add(send_channel& next) noexcept;
    void add(recv_channel& next) noexcept;
    /// Gives the lanes every frame that may be sent now.
    void feed() noexcept;
    void sent(send_channel& which) noexcept;
    void sent(parcel& which) noexcept;
    /// Takes a frame that is there already, without waiting for the loop to try.
    void look() noexcept {
        if (alone() && lanes_.front()->over) lanes_.front()->over->look();
    }
    /// An operation has moved on: asks again about parked frames of operations that have begun.
    void resume() noexcept;
    /// Operations have begun: asks again about parked frames that came before.
    void resume_ahead() noexcept;
    /// Returns where a slice to be reduced has landed; null when it was reduced on arrival.
    bounce* bounce_of(const operation& whose, int step, std::size_t slice) noexcept;
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
    landing arrived(port_lane& on, const frame& head, std::vector<std::span<std::byte>>& runs) noexcept;
    bool taken(const frame& head, std::span<const std::byte> payload) noexcept;
    void landed(port_lane& on, const frame& head) noexcept;
    std::size_t combine_together(port_lane& on, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept;
    void lent(port_lane& on, const remote_reference& what) noexcept;
    void lost(port_lane& on, std::error_code why) noexcept;

private:
    template <class Channel>
    struct queue {
        Channel* first = nullptr;
        Channel* last = nullptr;
        void push(Channel& one) noexcept;
        void pop() noexcept { first = first->next; }
        void remove(Channel& one) noexcept;
    };

    const operation* missed() const noexcept;
    bool alone() const noexcept { return lanes_.size() == 1; }
    bool spread() const noexcept;
    void resume_if(bool due) noexcept;
    void feed_alone() noexcept;
    bool send_now(lane& over, send_channel& next) noexcept;
    void feed_together() noexcept;
    static frame head_of(const cursor& at, std::uint32_t index, std::size_t bytes) noexcept;
    static void describe(outgoing& made, send_channel& from, const cursor& at, std::uint32_t index, std::size_t bytes) noexcept;
    bool full() const noexcept;
    std::size_t window_of(std::size_t bytes, const operation& of) const noexcept;
    port_lane* idle_lane(std::size_t bytes) noexcept;
    template <class Channel>
    void count(Channel& channel, const cursor& done, const frame& head) noexcept;
    void go_on(operation& of) noexcept;
    recv_channel* receiver_of(std::uint64_t sequence) noexcept;
    bool is_new(const recv_channel& whose, std::uint32_t index) const noexcept;
    landing expected(port_lane& on, recv_channel& whose, const frame& head, std::vector<std::span<std::byte>>& runs) noexcept;
    landing land(port_lane& on, std::size_t bytes, std::vector<std::span<std::byte>>& runs) noexcept;
    template <class Visit>
    static void each_together(const cursor& at, Visit visit) noexcept;
    landing meet(port_lane& on) noexcept;
    landing without_receiver(const frame& head) noexcept;
    bool combined(port_lane& on) noexcept;
    landing disagreed(const descriptor& mine, const frame& head) noexcept;
    landing miscounted(const operation& of, const frame& head, std::size_t bytes) noexcept;
    landing refuse(error code, std::string cause) noexcept;
    void peer_left(port_lane& on) noexcept;
    void say_goodbye(port_lane& on) noexcept;

    engine& owner_;
    const rank peer_;
    const lane_kind kind_;
    std::vector<std::unique_ptr<port_lane>> lanes_;
    queue<send_channel> senders_;
    queue<recv_channel> receivers_;
    send_channel* given_ = nullptr;  // with one lane: a channel whose last frame the lane has, until that is sent
    std::size_t window_ = std::numeric_limits<std::size_t>::max();  // the smallest of its lanes
    std::size_t turn_ = 0;  // the lane that is offered the next frame first
    bool feeding_ = false;
    bool parked_ = false;  // a lane keeps a frame of an operation that has begun
    bool ahead_ = false;   // or of one that has not
    bool left_ = false;    // nothing comes any more, over any lane
};

}  // namespace tutti
