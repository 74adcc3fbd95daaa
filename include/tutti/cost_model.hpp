// The numbers by which the algorithms of collectives are chosen.
#pragma once

#include <tutti/types.hpp>

namespace tutti {

/// What things cost on a group of hosts, in seconds. The ranks of a group use the numbers of its rank 0, so all choose alike. The
/// defaults reproduce what was measured with TCP on one host of two cores: at 4 ranks recursive doubling to about 48 KiB,
/// halving-doubling to about 600 KiB, then the ring; at 2 ranks one exchange to about 88 KiB, then the ring. What is between hosts is not
/// measured: by default it is a network of 10 Gbit/s.
struct cost_model {
    double round = 8e-6;            // a round in which something is received: the partner has to be noticed
    double message = 1e-6;          // a send or recv: a system call
    double sent_byte = 0.27e-9;     // also copied within a rank; sending and receiving at once costs the larger of both
    double reduced_byte = 0.22e-9;  // landed beside its operand, read again and added
    /// Bytes in flight stay in the cache up to a window per link. A rank that feeds several links gets only the busiest one's window
    /// for free; what it spreads over the others beyond one more window goes through cold memory.
    double window_bytes = 256.0 * KiB;
    double cold_byte = 0.5e-9;
    double far_round = 25e-6;   // as `round`, when it comes from another host
    double far_byte = 0.85e-9;  // as `sent_byte`, to or from another host, whose ranks all share one card

    friend bool operator==(const cost_model&, const cost_model&) = default;
};

}  // namespace tutti
