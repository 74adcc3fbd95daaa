// The numbers by which the algorithms of collectives are chosen.
#pragma once

#include <tutti/types.hpp>

namespace [[gnu::visibility("default")]] tutti {

/// What things cost on a group of hosts, in seconds. The ranks of a group use the numbers of its rank 0, so all choose alike. Memory that is
/// in no cache costs all algorithms nearly alike, since within a host what a slice brought is sent on while it is hot: only that it had to come
/// there is counted, by `forwarded_byte`. The defaults reproduce what was measured with TCP on one host, 2, 4 and 8 ranks on two cores
/// (docs/findings.md). What is between hosts is not measured: by default it is a network of 10 Gbit/s. No number is negative, none of seconds
/// beyond a million.
struct cost_model {
    double round = 1.8e-6;            // a round in which something is exchanged: the partner has to be noticed
    double message = 2.25e-6;         // a send: system calls, which carry it as far as its receiver; a recv is a third of it
    double packet = 1e-6;             // a packet of a message within a host, at both ends, where cores are shared; what its bytes fill is in `moved_byte`
    double link = 0;                  // more for a message of the first slice, at both ends, for each peer of that rank on its host but one
    double moved_byte = 0.075e-9;     // sent or received, packets included: a rank does one after the other
    double reduced_byte = 0.0175e-9;  // landed beside its operand, read again and added; also copied within a rank
    double spread_byte = 0.0012e-9;   // more for what is sent within a host, for each link there more than ranks: they share caches
    double forwarded_byte = 0;        // more for what came, or was summed, and is sent on: it has to go through the caches
    double spread_from = 0;           // bytes, of the vectors of all ranks of a host, beyond which these two count: less stays in the caches
    double answered = 0;              // a part of `moved_byte`, saved with all of `spread_byte` where a peer writes back into memory that was
                                      // sent to it; and of `reduced_byte` for all but the first of what a rank sums in one pass, to write it
                                      // back to several or because they do alike
    double allocated = 0;             // a part of `moved_byte`, saved with all of `spread_byte` and `forwarded_byte` in calls with
                                      // call_options::allocated
    double far_round = 25e-6;         // as `round`, when it comes from another host
    double far_byte = 0.85e-9;        // as `moved_byte`, to or from another host, the larger of both; all ranks of a host share one card
    double cores = 0;                 // of a host, for all its ranks, 1 or more; 0: each rank has its own
    double crowded = 1;               // times `round` and `message` where a host has more ranks of the group than cores: 1 or more
    double uneven = 0.44;             // a part of what the busiest core of such a host has beyond its share, where ranks stay on their cores

    friend bool operator==(const cost_model&, const cost_model&) = default;
};

/// The same where the ranks of a host share memory.
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
