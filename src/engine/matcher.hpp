// Brings messages and receives together: the receives that wait for a message, and the messages that wait for a receive.
#pragma once

#include "engine/message.hpp"

#include <memory>
#include <vector>

namespace tutti {

/// A message that was sent before its receive was called: its bytes, or only word of it.
struct unexpected {
    received what;
    std::uint64_t number = 0;   // on its way from sender to receiver, from 1
    std::uint64_t arrival = 0;  // in the order of all sources
    bool offered = false;       // the bytes are with the sender
    bool landed = false;
    std::size_t bytes = 0;  // kept in `data`
    std::unique_ptr<std::byte[]> data;
    std::size_t capacity = 0;  // of `data`
    message* taker = nullptr;  // the receive that gets what is still arriving
    message* from = nullptr;   // the sender, when that is this rank and the bytes are with it
    links<unexpected> turn;
};

using unexpected_queue = linked_queue<unexpected, &unexpected::turn>;

/// Of several messages that fit a receive the one that arrived first is taken; of several receives that fit a message the one that was
/// called first. So messages with one source and tag are received in the order in which they were sent.
class matcher {
public:
    explicit matcher(int size) : kept_(static_cast<std::size_t>(size)), posted_(static_cast<std::size_t>(size)) {}

    void post(message& receiver) noexcept { list_of(receiver).push(receiver); }
    /// Takes the receive for a message away, if there is one.
    message* claim(rank source, message_tag tag) noexcept;
    /// A receive that waits for this rank, or for any_source.
    message* waiting(rank source) const noexcept {
        return source == any_source ? posted_any_.first() : posted_[static_cast<std::size_t>(source)].first();
    }

    /// A new message, which nobody waits for. It stays until it is freed.
    unexpected& keep(const received& what, std::uint64_t number, std::size_t bytes);
    unexpected* find(rank source, message_tag tag) const noexcept;
    /// Nobody finds it any more.
    void take(unexpected& one) noexcept;
    void free(unexpected& one) noexcept;
    std::size_t kept_messages(rank source) const noexcept;
    std::size_t kept_bytes(rank source) const noexcept { return kept_[static_cast<std::size_t>(source)].bytes; }

    void clear() noexcept;

private:
    struct shelf {
        unexpected_queue all;
        std::size_t messages = 0;
        std::size_t bytes = 0;
    };

    message_queue& list_of(const message& receiver) noexcept {
        return receiver.asked.peer == any_source ? posted_any_ : posted_[static_cast<std::size_t>(receiver.asked.peer)];
    }

    std::vector<shelf> kept_;            // by source
    std::vector<message_queue> posted_;  // by source
    message_queue posted_any_;
    std::uint64_t arrivals_ = 0;
    std::vector<unexpected*> free_;  // with their memory, if that is not much
    std::size_t spare_bytes_ = 0;
    std::vector<std::unique_ptr<unexpected>> owned_;
};

}  // namespace tutti
