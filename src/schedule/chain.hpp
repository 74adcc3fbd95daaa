// The longest chain of messages through the plans of all ranks, from the first round to the end of the last rank.
#pragma once

#include "schedule/host_map.hpp"
#include "schedule/schedule.hpp"

#include <span>

namespace tutti {

/// Seconds from the beginning of the round in which a message is sent until it has come.
struct latencies {
    double near = 0;  // within a host
    double far = 0;   // from another host
};

/// Returns how long the plans take if nothing but latency takes time: a round ends when everything that it receives has come. Takes one plan for
/// each rank, verified.
double chain_seconds(std::span<const schedule> plans, const latencies& take, const host_map& hosts = {});

}  // namespace tutti
