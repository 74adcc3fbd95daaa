// Brings messages and receives together: the receives that wait for a message, and the messages that wait for a receive.
// Collectives are matched by their order, in port_receiver.cpp.
#pragma once

#include "engine/posted.hpp"

#include <memory>
#include <vector>

namespace tutti {

/// A message that came before its receive was called: its bytes, or only the announcement.
struct unexpected {
    received what;
    std::uint64_t number = 0;   // among those from sender to receiver, from 1
    std::uint64_t arrival = 0;  // in the order of all sources
    bool offered = false;       // the bytes are with the sender
    bool landed = false;
    bool unwanted = false;  // its receive cannot take it: it is thrown away when it has landed
    std::size_t bytes = 0;  // kept in `data`
    std::unique_ptr<std::byte[]> data;
    std::size_t capacity = 0;  // of `data`
    message* taker = nullptr;  // the receive that gets what is still arriving
    message* from = nullptr;   // the sender, when that is this rank and the bytes are with it
    links<unexpected> with_key, with_tag, of_source, of_all;  // in the order of arrival
};

/// Owned by the messenger, and used with the engine's guard held. A receive takes the message that arrived first among those that fit; a
/// message goes to the receive that was called first. So messages with one source and tag are received in the order in which they were
/// sent. It moves no bytes and ends no call.
class matcher {
public:
    explicit matcher(int size) : kept_(static_cast<std::size_t>(size)), posted_(size) {}

    void reserve(std::size_t more) { posted_.reserve(more); }
    void post(message& receiver) noexcept { posted_.post(receiver); }
    void withdraw(message& receiver) noexcept { posted_.withdraw(receiver); }
    /// Takes out the receive for a message; null without one.
    message* claim(rank source, message_tag tag) noexcept { return posted_.claim(source, tag); }
    /// Returns a receive that waits for this rank, or for any_source.
    message* waiting(rank source) const noexcept { return posted_.waiting(source); }

    /// Returns the number of a message that arrives now, among those of all sources.
    std::uint64_t next_arrival() noexcept { return ++arrivals_; }
    /// Keeps a message for which no receive waits, until it is freed.
    unexpected& keep(const received& what, std::uint64_t number, std::size_t bytes, std::uint64_t arrival);
    unexpected* find(rank source, message_tag tag) const noexcept;
    /// Hides a message from further receives.
    void take(unexpected& one) noexcept;
    /// Shows it again, in the order of its arrival: the receive that had taken it ended early.
    void put_back(unexpected& one);
    void free(unexpected& one) noexcept;
    std::size_t kept_messages(rank source) const noexcept;
    std::size_t kept_bytes(rank source) const noexcept { return kept_[static_cast<std::size_t>(source)].bytes; }

    void clear() noexcept;

private:
    struct shelf {
        linked_queue<unexpected, &unexpected::of_source> all;
        std::size_t messages = 0;
        std::size_t bytes = 0;
    };

    std::vector<shelf> kept_;  // by source
    keyed_queues<unexpected, &unexpected::with_key> by_key_;
    keyed_queues<unexpected, &unexpected::with_tag> by_tag_;  // of all sources
    linked_queue<unexpected, &unexpected::of_all> all_;
    std::size_t messages_ = 0;
    posted posted_;
    std::uint64_t arrivals_ = 0;
    std::vector<unexpected*> free_;  // with their memory, up to spare_limit in all
    std::size_t spare_bytes_ = 0;
    std::vector<std::unique_ptr<unexpected>> owned_;
};

}  // namespace tutti
