// Two ends of a simulated stream, which a simulated network can break.
#pragma once

#include "transport/simulated_line.hpp"

#include <tutti/transport.hpp>

#include <memory>
#include <string>

namespace tutti {

/// The state that both ends share, and the last one destroys; `side` is 0 or 1.
struct simulated_channel {
    simulated_channel(event_loop& loop, std::shared_ptr<simulated_history> history, const line_options& there, const line_options& back, std::uint64_t name);

    /// Ends both directions at once; bytes that were not received are lost.
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
