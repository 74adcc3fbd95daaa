// Which ranks do the same, relative to their peers. In a ring all ranks play one role; in a tree every rank has its own. The simulator runs one rank
// of each role.
#pragma once

#include "schedule/schedule.hpp"

#include <functional>
#include <optional>

namespace tutti {

/// One rank's plan. Called several times for each rank, since the plans of a large world do not fit in memory at once.
using plan_builder = std::function<schedule(rank)>;

/// The connection of a rank with one of its peers. Peers are numbered in the order in which the plan names them.
struct path {
    int role = 0;  // of the peer
    int back = 0;  // the peer's path that leads here
};

/// Ranks whose plans differ only in the names of peers and blocks: they have equal rounds, steps and numbers of blocks, with peers of equal roles,
/// step by step. A simulation that looks at nothing else treats them alike, so one of them stands for all.
struct role {
    rank one = 0;   // the lowest rank that plays it
    int ranks = 0;  // the number of ranks that play it
    long transfers = 0;
    std::vector<path> paths;
};

/// Bounds of the time and memory of roles_of, over all ranks.
struct role_limits {
    long steps = 1'000'000'000;
    long paths = 200'000'000;
};

struct roles {
    std::vector<role> all;
    int whole = 1;             // blocks of the whole vector
    int largest_transfer = 1;  // blocks in the longest of any rank
};

/// Finds the roles by refinement: ranks are alike until their steps, or the roles of their peers, differ. Compares by 64-bit digests. With `merged`
/// false every rank plays its own role. None when the plans are beyond the limits. Every send needs its recv.
std::optional<roles> roles_of(int size, const plan_builder& build, bool merged = true, const role_limits& limits = {});

/// Returns for each step of a plan the number of its peer, counted in the order in which the plan names peers; -1 for copies.
std::vector<int> number_peers(const schedule& plan);

}  // namespace tutti
