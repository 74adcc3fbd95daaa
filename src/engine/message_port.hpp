// One peer's end of the point lane: the messages that go there and come from there, and the credits that bound what nobody has asked for.
#pragma once

#include "engine/matcher.hpp"

#include <array>
#include <memory>
#include <vector>

namespace tutti {

/// A long message that this rank has asked for, and the frame that asks for it. It outlives its receive: what has been asked for comes.
class fetch final : public outgoing {
public:
    message_port* over = nullptr;
    message* into = nullptr;   // null: no receive takes it, and it is thrown away
    std::uint64_t number = 0;  // of the message
    std::size_t bytes = 0;     // 0: nothing comes, and its sender hears that
    std::size_t done_bytes = 0;
    std::size_t slice = 0;  // that comes next
    bool queued = false;    // this frame is with the lane
    links<fetch> turn;

    void gather(std::vector<std::span<const std::byte>>&) const override {}
    void sent() noexcept override;
};

/// Short messages travel at once, and are kept by the receiver until a receive takes them; that costs credits, which the receiver gives
/// back then. Without credits, or when it is long, a message is only offered: its bytes follow when the receiver says go. Its send has not
/// ended meanwhile, so there are no more offers than sends under way. So the lane is always read, whatever is asked for. Used with the engine's guard held; calls for the lane's frames are followed by a flush, on the loop.
class message_port final : private lane_owner {
public:
    message_port(messenger& owner, rank peer);

    rank peer() const noexcept { return peer_; }
    bool attached() const noexcept { return lane_ != nullptr; }
    bool left() const noexcept { return left_; }
    /// The lane is there, and nothing will come over it any more.
    bool broken() const noexcept { return broken_; }
    bool flushed() const noexcept { return !lane_ || lane_->flushed(); }
    /// A message to or from this peer that has not ended, if there is one; receives that match nothing yet are not known here.
    message* pending() const noexcept;

    void attach(std::unique_ptr<link> over);
    /// The next message to this peer.
    void send(message& next) noexcept;
    /// `receiver` takes a message that was kept. It may end at once. Without one the message is thrown away.
    void accept(message* receiver, unexpected& kept) noexcept;
    /// `receiver`, which has been matched with a message from here, ends without it: its memory is not touched any more.
    void let_go(message& receiver) noexcept;
    void flush() noexcept;
    /// On the loop: a receive may wait for this peer.
    void expect() noexcept;
    void sent(message& which) noexcept;
    void sent(fetch& which) noexcept;

    void say_goodbye() noexcept;
    void peer_left() noexcept;
    /// Forgets every message and touches no payload any more.
    void stop() noexcept;
    void close() noexcept;

    bool wanted = false;  // the lane has been asked for
    bool dirty = false;   // in the list of those to be flushed

private:
    static constexpr std::size_t slices_ahead = 2;  // of one message: while one is taken the next is there already
    static constexpr std::uint32_t nothing_to_send = 1;  // in place of a slice's number in go

    /// Carries one slice of an offered message after the other.
    class carrier final : public outgoing {
    public:
        message_port* over = nullptr;
        message* load = nullptr;

        std::size_t first_byte() const noexcept;
        void gather(std::vector<std::span<const std::byte>>& runs) const override;
        void sent() noexcept override { over->carried(*this); }
    };
    /// A frame of the port itself: credits, or goodbye.
    class notice final : public outgoing {
    public:
        message_port* over = nullptr;  // null: nobody needs to know that it has been sent
        bool queued = false;

        void gather(std::vector<std::span<const std::byte>>&) const override {}
        void sent() noexcept override {
            queued = false;
            if (over) over->give_back();
        }
    };
    using fetch_queue = linked_queue<fetch, &fetch::turn>;
    struct credits {
        std::size_t messages = 0;
        std::size_t bytes = 0;
    };

    landing arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept override;
    void landed(const frame& head) noexcept override;
    bool awaits() const noexcept override;
    void lost(std::error_code why) noexcept override;

    void feed() noexcept;
    void give_to_lane(outgoing& one, frame_kind kind, std::uint64_t number) noexcept;
    void carry() noexcept;
    message* next_to_carry() const noexcept;
    void carried(carrier& by) noexcept;
    void say_go(message* receiver, const received& what, std::uint64_t number) noexcept;
    void owe(std::size_t bytes) noexcept;
    void give_back() noexcept;

    landing new_message(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept;
    landing next_slice(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept;
    landing refuse(std::string cause) noexcept;
    void throw_away(std::size_t bytes, std::vector<std::span<std::byte>>& runs);
    void throw_rest_away();
    void keep_instead(message& receiver);
    void message_landed(std::size_t bytes) noexcept;
    void offer_landed(const frame& head) noexcept;
    void slice_landed(const frame& head) noexcept;
    void go_landed(const frame& head) noexcept;
    std::size_t slice_bytes(std::size_t whole, std::size_t slice) const noexcept;

    messenger& owner_;
    const rank peer_;
    std::unique_ptr<lane> lane_;
    bool broken_ = false;
    bool left_ = false;

    // To the peer.
    std::uint64_t numbered_ = 0;
    credits mine_;           // what this rank may still send unasked
    message_queue waiting_;  // for the lane
    message_queue leaving_;  // whole, with the lane
    message_queue offered_;
    keyed_queues<message, &message::row> offered_by_number_;  // a number stands where others have a tag
    message_queue ready_;  // the peer said go
    std::array<carrier, 4> carriers_;

    // From the peer.
    std::uint64_t arrived_ = 0;
    credits theirs_;                 // what the peer may still send unasked
    credits owed_;                   // taken, and not given back yet
    // Where the payload of the present frame goes: to one of these, or nowhere.
    message* arriving_ = nullptr;
    unexpected* keeping_ = nullptr;
    fetch* fetching_ = nullptr;
    std::uint64_t arrival_ = 0;  // of the message that came last, among those of all sources
    fetch_queue expected_;       // in the order in which they were asked for
    std::size_t offers_ = 0;     // that came, and have not been answered to the end
    std::vector<fetch*> free_;
    std::vector<std::unique_ptr<fetch>> owned_;
    std::vector<std::byte> scrap_;
    notice credit_;
    notice goodbye_;
};

}  // namespace tutti
