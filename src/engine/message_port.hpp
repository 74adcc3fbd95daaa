// One peer's end of the point lane: the messages to and from it, and the credits that bound messages which no receive has asked for.
#pragma once

#include "engine/matcher.hpp"

#include <array>
#include <memory>
#include <vector>

namespace tutti {

/// A long message that this rank has asked for, and the frame (`go`) that asks for it. It outlives a receive that ends early: the bytes
/// come anyway.
class fetch final : public outgoing {
public:
    message_port* over = nullptr;
    message* into = nullptr;   // null: no receive takes the message, and it is thrown away
    std::uint64_t number = 0;  // of the message
    std::size_t bytes = 0;     // 0: no bytes come, and the sender is told so
    std::size_t done_bytes = 0;
    std::size_t slice = 0;  // the next to come
    bool queued = false;    // this frame is with the lane
    links<fetch> turn;

    void gather(std::vector<std::span<const std::byte>>&) const override {}
    void sent() noexcept override;
};

/// Owns the point lane to one peer, its credits, and the fetches; messages belong to the messenger. Used with the engine's guard held. The
/// messenger gives it sends (`send`) and matched receives (`accept`), and flushes it on the loop. It never matches: it asks the matcher.
///
/// The eager path: a short message travels at once and is kept by the receiver until a receive takes it. That costs credits, which the
/// receiver then gives back. The rendezvous: a long message, or one without credits, is only offered; its bytes follow when the receiver
/// says go. Its send has not ended meanwhile, so a peer has no more offers than sends under way. Both are bounded, so the lane can always
/// be read.
///
///     sending:    send --> waiting_ --whole: frame `message`--> leaving_ ---------------------sent--> end
///                              `------frame `offer`-----------> offered_ --go--> ready_ <--> carrier, slice by slice --> end
///                                                                   `--go, nothing to send----------------------> end
///
///     receiving:  `message` --a receive fits--> arriving_ --------------------------------landed--> end, credits back
///                     `-------else------------> keeping_, in the matcher, until a receive takes it--> end, credits back
///                 `offer`   --a receive fits, at once or later--> say_go: expected_ --slices of `data` landed--> end
class message_port final : private lane_owner {
public:
    message_port(messenger& owner, rank peer);

    rank peer() const noexcept { return peer_; }
    bool attached() const noexcept { return lane_ != nullptr; }
    bool left() const noexcept { return left_; }
    /// Returns whether the lane was lost: nothing comes over it any more.
    bool broken() const noexcept { return broken_; }
    bool flushed() const noexcept { return !lane_ || lane_->flushed(); }
    /// Returns a message to or from this peer that has not ended; null without one. Receives that have matched nothing yet are not known
    /// here.
    message* pending() const noexcept;

    void attach(std::unique_ptr<link> over);
    /// Sends the next message to this peer.
    void send(message& next) noexcept;
    /// Gives `receiver` a message that was kept; it may end at once. Null throws the message away.
    void accept(message* receiver, unexpected& kept) noexcept;
    /// Ends the use of `receiver`, which has been matched with a message from here: its memory is not touched any more.
    void let_go(message& receiver) noexcept;
    void flush() noexcept;
    /// On the loop: tells the lane if a receive may wait for this peer.
    void expect() noexcept;
    void sent(message& which) noexcept;
    void sent(fetch& which) noexcept;

    void say_goodbye() noexcept;
    void peer_left() noexcept;
    /// Forgets every message and touches no payload any more.
    void stop() noexcept;
    void close() noexcept;

    bool wanted = false;  // the observer has been asked for the lane
    bool dirty = false;   // in the messenger's list of ports to be flushed

private:
    static constexpr std::size_t slices_ahead = 2;       // of one message: while one is taken the next is there already
    static constexpr std::uint32_t nothing_to_send = 1;  // in the slice of `go`: the message is empty or unwanted, and has ended

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
        message_port* over = nullptr;  // null for goodbye, after which nothing is to be done
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
    credits mine_;           // for messages that this rank may still send unasked
    message_queue waiting_;  // for the lane
    message_queue leaving_;  // whole, with the lane
    message_queue offered_;
    keyed_queues<message, &message::row> offered_by_number_;  // the message's number in place of a tag
    message_queue ready_;                                     // the peer said go
    std::array<carrier, 4> carriers_;                         // slices with the lane, of all messages together

    // From the peer.
    std::uint64_t arrived_ = 0;
    credits theirs_;  // for messages that the peer may still send unasked
    credits owed_;    // of messages that were taken; not given back yet
    // Where the payload of the present frame goes: to one of these, or to scrap_.
    message* arriving_ = nullptr;
    unexpected* keeping_ = nullptr;
    fetch* fetching_ = nullptr;
    std::uint64_t arrival_ = 0;  // the last message's number among those of all sources
    fetch_queue expected_;       // in the order of their go
    std::size_t offers_ = 0;     // offers that have come, and whose messages have not ended
    std::vector<fetch*> free_;
    std::vector<std::unique_ptr<fetch>> owned_;
    std::vector<std::byte> scrap_;  // where unwanted payloads land
    notice credit_;
    notice goodbye_;
};

}  // namespace tutti
