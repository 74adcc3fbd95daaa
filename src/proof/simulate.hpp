// How long a set of plans would take on paper: all ranks, in slices, by the engine's order rule, over a simple network.
#pragma once

#include "proof/roles.hpp"

#include <string>

namespace tutti {

/// Every rank has one card that sends one message at a time and, independently, receives one at a time, and nothing between the cards is
/// ever busy. What arrives before it is expected waits at its receiver, which costs nothing.
struct network {
    double latency = 0;           // seconds between a byte's leaving and its arrival
    double bandwidth = 1e9;       // bytes per second, each way
    double overhead = 0;          // seconds of each message, at both cards, beside its bytes
    double reduce_bandwidth = 0;  // bytes per second that a rank combines or copies, one slice at a time; 0: in no time
};

struct simulated {
    double seconds = 0;              // until the last rank has ended
    int slices = 1;                  // of each transfer
    int roles = 0;                   // that were simulated, each for all ranks that play it
    long transfers = 0;              // slices sent, of these roles
    std::string refused;             // why it was not done, in words; empty when it was
    double coarser_slice_bytes = 0;  // with which it would be done, if that is all it needs
};

struct simulate_options {
    double slice_bytes = 512.0 * 1024;
    long segment = 0;             // slices that go through all rounds before the next segment does; 0: all
    bool merged = true;           // one rank for each role; false: all ranks, with the same result
    long transfers = 30'000'000;  // beyond it refuses: some 20 seconds
    role_limits looking = {};
};

/// Of a vector of `vector_bytes`, in equal blocks and slices: bytes are not rounded to elements. A rank hands one slice at a time to each
/// lane, and the lanes take turns at its card, in the order in which they have something to send.
simulated simulate(int size, const plan_builder& build, double vector_bytes, const network& over, const simulate_options& how = {});

}  // namespace tutti
