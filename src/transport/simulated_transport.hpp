// A network in virtual time, for tests: latency, bandwidth, partial moves and lost ranks, the same for the same seed.
#pragma once

#include "transport/connect_retry.hpp"
#include "transport/simulated_link.hpp"
#include "transport/switchboard.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tutti {

class simulated_transport;

/// Shared by the transports of one group, all on one loop. It outlives them; their links may outlive it.
class simulated_network {
public:
    explicit simulated_network(std::uint64_t seed, line_options every_line = line_options{});
    simulated_network(const simulated_network&) = delete;
    simulated_network& operator=(const simulated_network&) = delete;
    ~simulated_network();

    /// Sets the line from one rank to another, for open links, too (but not their windows).
    void set(rank from, rank to, const line_options& options);
    /// Breaks all links of a rank at both ends; it neither connects nor accepts any more.
    void kill(rank who);
    /// Breaks every link between the two, at both ends. They may connect again.
    void reset(rank one, rank other);
    /// Returns a number that is equal for two runs in which the same events happened at the same times in the same order.
    std::uint64_t history() const noexcept { return history_->hash(); }

private:
    friend class simulated_transport;
    struct opened {
        rank from;
        rank to;
        std::weak_ptr<simulated_channel> channel;
    };

    line_options line(rank from, rank to) const;
    /// Opens a channel. Channels are numbered in the order in which they were opened.
    std::shared_ptr<simulated_channel> open(event_loop& loop, rank from, rank to);
    template <class Choice>
    void break_off(Choice chosen);

    const line_options every_line_;
    std::shared_ptr<simulated_history> history_;  // the links write it, too
    switchboard board_{"simulated"};
    std::map<std::pair<rank, rank>, line_options> lines_;
    std::vector<simulated_transport*> transports_;  // by rank; null when gone
    std::vector<opened> open_;
    std::uint64_t opened_ = 0;
};

/// The ranks of a network are numbered in the order in which their transports are made.
class simulated_transport final : public transport {
public:
    simulated_transport(event_loop& loop, simulated_network& network);
    ~simulated_transport() override;

    std::string address() const override { return address_; }
    task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) override;
    task<result<std::unique_ptr<link>>> accept() override { return accepting_.accept(); }
    void close() noexcept override;

private:
    friend class simulated_network;
    std::string open_link(const std::string& address, std::unique_ptr<link>& mine);

    event_loop& loop_;
    simulated_network& network_;
    arrivals accepting_;
    connects_under_way connecting_;
    const rank rank_;
    const std::string address_;
};

}  // namespace tutti
