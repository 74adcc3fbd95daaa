// Some ranks of a group, in an order of their own, that carry out a plan made for as many: how larger plans are put together from smaller ones.
#pragma once

#include "algorithm/catalogue.hpp"

#include <vector>

namespace tutti {

struct team {
    std::vector<rank> ranks;
    int me = -1;   // where I am in it; -1: not at all
    int root = 0;  // where the root is

    /// To build a plan for; of one of its members.
    participant at() const noexcept { return {me, static_cast<int>(ranks.size()), root}; }
};

/// The ranks of my host and, of each host, the one that speaks for it: the root on its own, elsewhere the lowest.
struct layers {
    team host;
    team leaders;

    explicit layers(participant at);
};

/// For each output block of a smaller plan the blocks of the larger one that it stands for.
using cut = std::vector<std::vector<blocks>>;
/// `parts` times `each` blocks, from `first`.
cut evenly(int parts, int each = 1, int first = 0);

/// Adds a team's plan, which works in its output only, to that of the whole group.
void append(schedule& plan, const schedule& part, const team& by, const cut& standing_for);

}  // namespace tutti
