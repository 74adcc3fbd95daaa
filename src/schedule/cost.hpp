// What a plan costs its rank, counted from its steps. Blocks stand for bytes: a vector of S bytes cut in `whole` equal blocks
// makes n blocks S n/whole bytes.
#pragma once

#include "schedule/host_map.hpp"
#include "schedule/schedule.hpp"

#include <map>

namespace tutti {

struct cost {
    int rounds = 0;
    int exchanges = 0;      // rounds in which something is sent or received; the others only copy
    int far_exchanges = 0;  // of these: with another host
    int steps = 0;
    int messages = 0;   // sends and recvs
    int sends = 0;      // of these
    int links = 0;      // peers of the host that something is sent to
    int linked = 0;     // messages within the host, times the peers there but one
    int whole = 1;      // blocks of the whole vector: the larger of input and output
    long sent = 0;      // blocks, as all that follow
    long received = 0;  // what is reduced included
    long reduced = 0;
    long merged = 0;  // of these: where memory is shared they are combined in the pass that combines others
    long copied = 0;
    long answered = 0;                    // received from a peer of the host, where nothing was done since it was sent to that peer
    long forwarded = 0;                   // received, reduced or not, and later sent on from where it landed
    long far_sent = 0, far_received = 0;  // to and from other hosts
    long far_serial = 0;                  // the larger of both in each round: what a card that does both at once is busy with
    long near() const noexcept { return sent + received - far_sent - far_received; }
    /// Of the peer that is sent to for longest: rounds in which something is exchanged, after the first send to it and up to the last. So long
    /// its lane carries no other segment.
    int lane_rounds = 0;
    int far_lane_rounds = 0;  // of these: with another host

    std::map<long, int> lengths;  // blocks of a message within the host, and how many sends and recvs have so many

    /// Of a vector of `vector_bytes`.
    double bytes(long blocks, double vector_bytes) const noexcept { return vector_bytes * static_cast<double>(blocks) / whole; }
    friend bool operator==(const cost&, const cost&) = default;
};

/// With how many ranks of its host rank `me` exchanges something.
int peers(const schedule& plan, rank me, const host_map& hosts);

/// Of rank `me`'s plan. Who is on another host matters to what is `far` only.
cost count(const schedule& plan, rank me = 0, const host_map& hosts = {});

}  // namespace tutti
