// One peer's end of one lane: which operations send and receive there, in which order.
#pragma once

#include "engine/bounce.hpp"
#include "engine/operation.hpp"
#include "transport/lane.hpp"

#include <array>
#include <memory>

namespace tutti {

/// Bulk data, small operations, messages: a barrier does not queue behind a gigabyte, and a message not behind a collective.
enum class lane_kind : std::uint8_t { control, bulk, small, point };
inline constexpr int lane_kinds = 4;

/// Used with the engine's guard held.
class port final : private lane_owner {
public:
    port(engine& owner, rank peer, lane_kind kind) : owner_(owner), peer_(peer), kind_(kind) {}

    rank peer() const noexcept { return peer_; }
    lane_kind kind() const noexcept { return kind_; }
    bool attached() const noexcept { return lane_ != nullptr; }
    bool left() const noexcept { return left_; }
    std::string route() const { return lane_->peer(); }
    /// Whether the peer shares memory with this rank.
    bool near() const noexcept { return lane_ && lane_->near(); }
    bool busy() const noexcept { return senders_.first || receivers_.first || (lane_ && !lane_->flushed()); }

    void attach(std::unique_ptr<lane> over);
    lane_owner& as_owner() noexcept { return *this; }
    bool awaited() const noexcept { return senders_.first || receivers_.first; }
    void add(send_channel& next) noexcept;
    void add(recv_channel& next) noexcept;
    /// Gives the lane what may be sent now.
    void feed() noexcept;
    void sent(send_channel& which) noexcept;
    /// Something changed: a parked frame may be taken.
    void resume() noexcept;
    /// The bytes that landed for a step of an operation; its bounce is free again.
    std::byte* landed_in(const operation& whose, int step, std::size_t slice) noexcept;
    void release(const operation& whose, int step, std::size_t slice) noexcept;
    void say_goodbye() noexcept;
    void peer_left() noexcept;
    /// Forgets every operation and touches no payload any more.
    void stop() noexcept;
    void close() noexcept;

private:
    class goodbye_frame final : public outgoing {
    public:
        void gather(std::vector<std::span<const std::byte>>&) const override {}
        void sent() noexcept override {}
    };
    template <class Channel>
    struct queue {
        Channel* first = nullptr;
        Channel* last = nullptr;
        void push(Channel& one) noexcept;
        void pop() noexcept { first = first->next; }
    };

    landing arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept override;
    std::size_t through(const frame& head, std::uint64_t offset, std::span<const std::byte> part) noexcept override;
    void landed(const frame& head) noexcept override;
    bool awaits() const noexcept override { return receivers_.first != nullptr; }
    void lost(std::error_code why) noexcept override;
    landing expected(const frame& head, recv_channel& front, std::vector<std::span<std::byte>>& runs) noexcept;
    landing unexpected(const frame& head) noexcept;
    landing disagreed(const descriptor& mine, const frame& head) noexcept;
    landing miscounted(const operation& of, const frame& head, std::size_t bytes) noexcept;
    landing refuse(error code, std::string cause) noexcept;
    bounce* free_bounce(std::size_t bytes);

    engine& owner_;
    rank peer_;
    lane_kind kind_;
    std::unique_ptr<lane> lane_;
    queue<send_channel> senders_;
    queue<recv_channel> receivers_;
    // Two: one slice may arrive while the one before waits for its round's sends.
    std::array<bounce, 2> bounces_;
    goodbye_frame goodbye_;
    bool parked_ = false;
    bool left_ = false;
};

}  // namespace tutti
