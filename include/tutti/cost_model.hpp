// The costs by which the algorithms of collectives are chosen.
#pragma once

#include <tutti/types.hpp>

namespace [[gnu::visibility("default")]] tutti {

/// Costs of operations on a group of hosts, in seconds. All ranks use the numbers of the group's rank 0, so all choose alike. Memory in no
/// cache costs all algorithms nearly the same, because within a host a received slice is sent on while it is hot. `forwarded_byte` counts
/// only that the data had to reach this rank. The defaults reproduce measurements with TCP on one host, 2, 4 and 8 ranks on two cores
/// (docs/findings.md). The costs between hosts are not measured; by default they describe a network of 10 Gbit/s. No number is negative,
/// and no number of seconds exceeds a million.
struct cost_model {
    double round = 1.8e-6;            // a round with an exchange: noticing the partner
    double message = 2.25e-6;         // a send: system calls, which carry it as far as its receiver; a recv costs a third of it
    double packet = 1e-6;             // a packet of a message within a host, at both ends, where cores are shared, without its bytes
    double link = 0;                  // added to a message of the first slice, at both ends, for each peer on the host beyond the first
    double moved_byte = 0.075e-9;     // sent or received, packets included; a rank does one after the other
    double reduced_byte = 0.0175e-9;  // received beside its operand, read again and added; also copied within a rank
    double spread_byte = 0.0012e-9;   // added to a byte sent within a host, for each link in use beyond one a rank: links share caches
    double forwarded_byte = 0;        // added to a byte that was received or summed and is sent on: it passes through the caches
    double spread_from = 0;           // bytes of the vectors of all ranks of a host beyond which spread_byte and forwarded_byte count
    double answered = 0;              // a part of `moved_byte`, saved with all of `spread_byte` where a peer writes back into memory that
                                      // was sent to it. Saved of `reduced_byte`, too, for all but the first of the parts that a rank sums
                                      // in one pass, because the result returns to those peers, or because they sum alike
    double allocated = 0;             // a part of `moved_byte`, saved with all of `spread_byte` and `forwarded_byte` in calls with
                                      // call_options::allocated
    double far_round = 25e-6;         // like `round`, for an exchange with another host
    double far_byte = 0.85e-9;        // like `moved_byte`, for other hosts, the larger direction; a host's ranks share one network card
    double cores = 0;                 // of a host, for all its ranks, 1 or more; 0: each rank has its own
    double crowded = 1;               // a factor, 1 or more, of `round` and `message` where a host has more ranks of the group than cores
    double uneven = 0.44;             // the part that counts of the busiest core's load beyond its share, where ranks stay on cores

    friend bool operator==(const cost_model&, const cost_model&) = default;
};

/// Costs where the ranks of a host share memory.
inline constexpr cost_model shared_memory_costs{.round = 0.15e-6,
                                                .message = 0.034e-6,
                                                .packet = 0,
                                                .link = 0.08e-6,
                                                .moved_byte = 0.082e-9,
                                                .reduced_byte = 0.032e-9,
                                                .spread_byte = 0.003e-9,
                                                .forwarded_byte = 0.055e-9,
                                                .spread_from = 8e6,
                                                .answered = 0.48,
                                                .allocated = 0.8,
                                                .crowded = 24,
                                                .uneven = 0};

}  // namespace tutti
