// The longest chain through a set of plans: the critical path of messages and work, from the first round to the end of the last rank.
#pragma once

#include "schedule/host_map.hpp"
#include "schedule/schedule.hpp"

#include <vector>

namespace tutti {

/// Seconds, taken from cost_model by algorithm/estimate.cpp.
struct chain_prices {
    double hop = 0;             // a round with a recv: the receiver has to notice that bytes have come
    double send = 0;            // a message, at its sender
    double recv = 0;            // a message, at its receiver
    double link = 0;            // added to both within a host, for each peer there beyond the first of the rank that calls
    double moved_byte = 0;      // sent or received: a rank does one after the other
    double reduced_byte = 0;    // or copied
    double merged_byte = 0;     // instead of `reduced_byte`, for parts that are combined in the pass of an earlier step
    double far_hop = 0;         // instead of `hop`, from another host
    double far_moved_byte = 0;  // instead of `moved_byte`, to or from another host, the larger of both in a round: a card does both at once
};

/// How long the plans take, by whole rounds. A round ends when its rank has done its own part and everything that it receives has come, each
/// message a `hop` after it was sent. The sends of a round leave one after the other. As a function of the vector's bytes the longest chain is
/// the largest of some straight lines, and a chain keeps only these. `estimate` makes one for each algorithm; after that it is immutable.
class chain {
public:
    chain() = default;
    /// One plan for each rank, verified.
    chain(std::span<const schedule> plans, const chain_prices& prices, const host_map& hosts = {});

    double seconds(double vector_bytes) const noexcept;

private:
    struct line {
        double fixed = 0;  // seconds
        double slope = 0;  // seconds per byte of the vector
        double at(double bytes) const noexcept { return fixed + slope * bytes; }
        friend line operator+(const line& one, const line& other) noexcept { return {one.fixed + other.fixed, one.slope + other.slope}; }
    };
    class graph;
    void find_between(const graph& all, double low, const line& at_low, double high, const line& at_high);

    std::vector<line> lines_;
};

}  // namespace tutti
