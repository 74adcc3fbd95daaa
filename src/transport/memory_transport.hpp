// Ranks inside one process, for tests and benchmarks: links are bounded queues in memory. Each transport may have a loop and thread of its
// own.
#pragma once

#include "transport/connect_retry.hpp"
#include "transport/switchboard.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/transport.hpp>

#include <string>

namespace tutti {

/// Shared by the transports of one group. It outlives them; their links may outlive it.
class memory_network {
public:
    static constexpr std::size_t default_capacity_bytes = 256 * KiB;

    /// Each direction of a link holds at most `capacity_bytes` that were sent and not yet received.
    explicit memory_network(std::size_t capacity_bytes = default_capacity_bytes) noexcept : capacity_bytes_(capacity_bytes) {}

    switchboard& board() noexcept { return board_; }
    std::size_t capacity_bytes() const noexcept { return capacity_bytes_; }

private:
    switchboard board_{"memory"};
    const std::size_t capacity_bytes_;
};

class memory_transport final : public transport {
public:
    memory_transport(event_loop& loop, memory_network& network);
    ~memory_transport() override { close(); }

    std::string address() const override { return address_; }
    task<result<std::unique_ptr<link>>> connect(std::string address, time_point deadline) override;
    task<result<std::unique_ptr<link>>> accept() override { return accepting_.accept(); }
    void close() noexcept override;

private:
    std::string open_link(const std::string& address, std::unique_ptr<link>& mine);

    event_loop& loop_;
    memory_network& network_;
    arrivals accepting_;
    connects_under_way connecting_;
    const std::string address_;
};

}  // namespace tutti
