// The builders of the catalogue, one per algorithm. Each is pure and costs what its comment in the .cpp file says.
#pragma once

#include "algorithm/catalogue.hpp"

namespace tutti {

// ring.cpp
schedule ring_all_reduce(participant at);
schedule ring_all_gather(participant at);
schedule ring_reduce_scatter(participant at);
// The halves of ring_all_reduce, for larger plans: between them rank r has the total of block r + 1.
schedule ring_to_parts(participant at);
schedule ring_from_parts(participant at);
// recursive_doubling.cpp
schedule recursive_doubling_all_reduce(participant at);
schedule recursive_doubling_all_gather(participant at);  // powers of two
// halving_doubling.cpp
schedule halving_doubling_all_reduce(participant at);
schedule halving_once_all_reduce(participant at);   // from 4 ranks
schedule halving_twice_all_reduce(participant at);  // from 8 ranks
schedule halving_reduce_scatter(participant at);
// tree.cpp
schedule tree_broadcast(participant at);
schedule tree_reduce(participant at);
schedule ordered_tree_reduce(participant at);
schedule tree_all_reduce(participant at);
// scatter_broadcast.cpp
schedule scatter_broadcast(participant at);
// star.cpp
schedule star_all_reduce(participant at);
// direct.cpp
schedule direct_all_reduce(participant at);
schedule direct_all_gather(participant at);
schedule direct_reduce_scatter(participant at);
schedule direct_all_to_all(participant at);
schedule direct_gather(participant at);
schedule direct_scatter(participant at);
// pairwise.cpp
schedule pairwise_all_gather(participant at);
schedule pairwise_reduce_scatter(participant at);
schedule pairwise_all_to_all(participant at);
// bruck.cpp
schedule bruck_all_gather(participant at);
schedule bruck_all_to_all(participant at);
// dissemination.cpp
schedule dissemination_barrier(participant at);
// subtree.cpp
schedule tree_gather(participant at);
schedule tree_scatter(participant at);
// prefix.cpp
schedule doubling_scan(participant at);
schedule doubling_exclusive_scan(participant at);
schedule chain_scan(participant at);
// leaders.cpp
schedule leaders_all_reduce(participant at);
schedule leaders_ring_all_reduce(participant at);
schedule leaders_broadcast(participant at);
schedule leaders_scatter_broadcast(participant at);
schedule leaders_reduce(participant at);
schedule leaders_barrier(participant at);
schedule leaders_all_gather(participant at);
// parts.cpp
schedule parts_all_reduce(participant at);

}  // namespace tutti
