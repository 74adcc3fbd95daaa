// How plans with layers are put together from smaller plans. A team is some of a group's ranks, in an order of their own, that carry out a plan
// made for as many ranks.
#pragma once

#include "algorithm/catalogue.hpp"

#include <vector>

namespace tutti {

struct team {
    std::vector<rank> ranks;
    int me = -1;   // this rank's index in `ranks`; -1: it is no member
    int root = 0;  // the root's index in `ranks`

    /// Returns the participant that a builder makes this member's plan for. Only for members.
    participant at() const noexcept { return {me, static_cast<int>(ranks.size()), root}; }
};

/// The ranks of this rank's host, and the leaders: one rank of each host, which speaks for it. That is the root on its host, elsewhere the lowest.
struct layers {
    team host;
    team leaders;

    explicit layers(participant at);
};

/// For each output block of a smaller plan, the blocks of the larger plan that it stands for.
using cut = std::vector<std::vector<blocks>>;
/// Returns a cut of `parts` parts, each of `each` consecutive blocks, from block `first` on.
cut evenly(int parts, int each = 1, int first = 0);

/// Adds a team's plan, which may use its output only, to the plan of the whole group.
void append(schedule& plan, const schedule& part, const team& by, const cut& standing_for);

}  // namespace tutti
