// Two ends of a simulated stream, and what a simulated network can do to both at once.
#pragma once

#include "transport/simulated_line.hpp"

#include <tutti/transport.hpp>

#include <memory>
#include <string>

namespace tutti {

/// What both ends share; `side` is 0 or 1. The last end to go takes it along, hence the shared pointer.
struct simulated_channel {
    simulated_channel(event_loop& loop, std::shared_ptr<simulated_history> history, const line_options& there, const line_options& back, std::uint64_t name);

    /// Both directions die at once; what was not received is lost.
    void break_off() noexcept;

    event_loop& loop;
    const std::shared_ptr<simulated_history> history;  // which may outlive its network
    const std::uint64_t name;
    simulated_line sent[2];  // by that side
    bool closed[2] = {};
    bool broken = false;
};

std::unique_ptr<link> make_simulated_link(std::shared_ptr<simulated_channel> both, int side, std::string peer);

}  // namespace tutti
