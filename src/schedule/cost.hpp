// Counts the cost of a plan for its rank from its steps. Blocks stand for bytes: n of the `whole` equal blocks of a vector of S bytes are
// S n/whole bytes.
#pragma once

#include "schedule/host_map.hpp"
#include "schedule/schedule.hpp"

namespace tutti {

/// The counts that algorithm/estimate.hpp turns into seconds, and the tests compare with the formulas of docs/algorithms.md. "Far" is between
/// this rank and a rank of another host.
struct cost {
    int rounds = 0;
    int exchanges = 0;      // rounds with a send or a recv; the other rounds only copy
    int far_exchanges = 0;  // of these: with another host
    int steps = 0;
    int messages = 0;   // sends and recvs
    int whole = 1;      // blocks of the whole vector: the larger of input and output
    long sent = 0;      // in blocks, as all counts below
    long received = 0;  // including reduced blocks
    long reduced = 0;
    long copied = 0;
    long far_sent = 0, far_received = 0;  // to and from other hosts
    long far_serial = 0;                  // the larger of both in each round, since a network card sends and receives at once
    long near() const noexcept { return sent + received - far_sent - far_received; }

    /// Returns the bytes of `blocks` blocks when the whole vector has `vector_bytes`.
    double bytes(long blocks, double vector_bytes) const noexcept { return vector_bytes * static_cast<double>(blocks) / whole; }
    friend bool operator==(const cost&, const cost&) = default;
};

/// Counts rank `me`'s plan.
cost count(const schedule& plan, rank me = 0, const host_map& hosts = {});

}  // namespace tutti
