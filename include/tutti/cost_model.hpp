// The numbers by which the algorithms of collectives are chosen.
#pragma once

#include <tutti/types.hpp>

namespace [[gnu::visibility("default")]] tutti {

/// Costs of operations on a group of hosts, in seconds. All ranks use the numbers of the group's rank 0, so all choose alike. The defaults are
/// round numbers of the right size for ranks that use TCP. They are fitted to no machine: the choice depends on their proportions, and on
/// these only roughly. No number is negative, and no number of seconds exceeds a million.
struct cost_model {
    double round = 2e-6;             // a round with a peer of the host: a message crosses the system, and its receiver wakes or looks
    double message = 1e-6;           // at each end of a message: a system call
    double moved_byte = 0.1e-9;      // sent or received within a host: copied at 10 GB/s; a rank does one after the other
    double reduced_byte = 0.025e-9;  // combined with another byte, or copied within a rank: at 40 GB/s, since both are in caches
    double far_round = 20e-6;        // like `round`, with another host: two network cards and a switch
    double far_byte = 0.8e-9;        // to or from another host, the larger direction: a card of 10 Gbit/s, which all ranks of a host share
    double cores = 0;                // of a host, for all its ranks, 1 or more; 0: each rank has its own

    friend bool operator==(const cost_model&, const cost_model&) = default;
};

/// Costs where the ranks of a host share memory. No system is called: a message and a look at a peer take a few cache lines, of which each
/// takes up to a tenth of a microsecond from core to core.
inline constexpr cost_model shared_memory_costs{.round = 0.3e-6, .message = 0.3e-6};

}  // namespace tutti
