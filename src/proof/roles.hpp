// Which ranks do the same: a rank's part in a set of plans, told relative to its peers. In a ring all ranks play one role; in a tree
// every rank has its own.
#pragma once

#include "schedule/schedule.hpp"

#include <functional>
#include <optional>

namespace tutti {

/// One rank's plan. Called several times for each rank, since the plans of a large world do not fit in memory at once.
using plan_builder = std::function<schedule(rank)>;

/// What a rank of this role has to do with one of its peers. Peers are numbered in the order in which the plan names them.
struct path {
    int role = 0;  // of the peer
    int back = 0;  // the peer's path that leads here
};

/// Ranks whose plans differ in names only: the same rounds, steps and numbers of blocks, with peers of the same roles, step by step. A
/// simulation that looks at nothing else treats them all alike, so one of them stands for all.
struct role {
    rank one = 0;   // who plays it, the lowest
    int ranks = 0;  // how many do
    long transfers = 0;
    std::vector<path> paths;
};

/// How much one is ready to look at.
struct role_limits {
    long steps = 1'000'000'000;
    long paths = 200'000'000;
};

struct roles {
    std::vector<role> all;
    int whole = 1;             // blocks of the whole vector
    int largest_transfer = 1;  // blocks in the longest of any rank
};

/// By refining: ranks are alike until their steps, or their peers, tell them apart. Compares by 64-bit digests. With `merged` false
/// every rank plays its own. None when the plans are beyond the limits. Every send needs its recv.
std::optional<roles> roles_of(int size, const plan_builder& build, bool merged = true, const role_limits& limits = {});

/// For each step of a plan the number of its peer, counted in the order in which the plan names them; -1 for copies.
std::vector<int> number_peers(const schedule& plan);

}  // namespace tutti
