// The longest chain through a set of plans: who waits for whom, round after round, until the last rank has ended.
#pragma once

#include "schedule/host_map.hpp"
#include "schedule/schedule.hpp"

#include <vector>

namespace tutti {

/// What things cost, in seconds.
struct chain_prices {
    double hop = 0;             // a round in which something is received: its partner has to be noticed
    double send = 0;            // the calls of its sender
    double recv = 0;            // and of its receiver
    double link = 0;            // more of both within a host, for each peer there but one of the rank that calls
    double moved_byte = 0;      // sent or received: a rank does one after the other
    double reduced_byte = 0;    // or copied
    double merged_byte = 0;     // instead of `reduced_byte`, for what is combined in the pass that combines others
    double far_hop = 0;         // instead of `hop`, from another host
    double far_moved_byte = 0;  // instead of `moved_byte`, to or from another host, the larger of both in a round: a card does both at once
};

/// By whole rounds: a round ends when its rank has done its own part and all that it receives has come, each `hop` after it was sent; the
/// sends of a round leave one after the other. As a function of the vector's bytes that is the largest of some straight lines, and
/// these are all it keeps.
class chain {
public:
    chain() = default;
    /// One plan for each rank, verified.
    chain(std::span<const schedule> plans, const chain_prices& prices, const host_map& hosts = {});

    double seconds(double vector_bytes) const noexcept;

private:
    struct line {
        double fixed = 0;
        double slope = 0;  // per byte
        double at(double bytes) const noexcept { return fixed + slope * bytes; }
        friend line operator+(const line& one, const line& other) noexcept { return {one.fixed + other.fixed, one.slope + other.slope}; }
    };
    class graph;
    void find_between(const graph& all, double low, const line& at_low, double high, const line& at_high);

    std::vector<line> lines_;
};

}  // namespace tutti
