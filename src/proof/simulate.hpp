// Simulates the time of a set of plans: all ranks, in slices, by the engine's order rule, over a simple network.
#pragma once

#include "proof/roles.hpp"

#include <string>

namespace tutti {

/// Every rank has one card, which sends one message at a time and independently receives one at a time. The network between the cards is never busy.
/// Bytes that arrive early wait at their receiver, at no cost.
struct network {
    double latency = 0;           // seconds between a byte's leaving and its arrival
    double bandwidth = 1e9;       // bytes per second, each way
    double overhead = 0;          // seconds of each message, at both cards, beside its bytes
    double reduce_bandwidth = 0;  // bytes per second that a rank combines or copies, one slice at a time; 0: infinitely many
};

struct simulated {
    double seconds = 0;              // until the last rank has ended
    int slices = 1;                  // of each transfer
    int roles = 0;                   // simulated roles, each for all ranks that play it
    long transfers = 0;              // slices sent by these roles
    std::string refused;             // the reason for which there is no result; empty when there is one
    double coarser_slice_bytes = 0;  // a slice length that would not be refused; 0 if there is none
};

struct simulate_options {
    double slice_bytes = 512.0 * 1024;
    long segment = 0;             // slices that go through all rounds before the next segment does; 0: all
    bool merged = true;           // one rank for each role; false: all ranks, with the same result
    long transfers = 30'000'000;  // beyond it refuses: some 20 seconds
    role_limits looking = {};
};

/// Simulates a vector of `vector_bytes` in equal blocks and slices; bytes are not rounded to elements. A rank gives one slice at a time to each lane.
/// The lanes use its card in the order in which they have something to send.
simulated simulate(int size, const plan_builder& build, double vector_bytes, const network& over, const simulate_options& how = {});

}  // namespace tutti
