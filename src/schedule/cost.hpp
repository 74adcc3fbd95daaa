// What a plan costs its rank, counted from its steps. Blocks stand for bytes: a vector of S bytes cut in `whole` equal blocks
// makes n blocks S n/whole bytes.
#pragma once

#include "schedule/schedule.hpp"

namespace tutti {

struct cost {
    int rounds = 0;
    int exchanges = 0;  // rounds in which something is sent or received; the others only copy
    int steps = 0;
    int messages = 0;   // sends and recvs
    int whole = 1;      // blocks of the whole vector: the larger of input and output
    long sent = 0;      // blocks, as all that follow
    long received = 0;  // what is reduced included
    long reduced = 0;
    long copied = 0;
    long serial = 0;  // sent or received, the larger in each round: what a link that does both at once is busy with
    long spread = 0;  // sent to peers other than the one that gets most

    /// Of a vector of `vector_bytes`.
    double bytes(long blocks, double vector_bytes) const noexcept { return vector_bytes * static_cast<double>(blocks) / whole; }
    friend bool operator==(const cost&, const cost&) = default;
};

cost count(const schedule& plan);

}  // namespace tutti
