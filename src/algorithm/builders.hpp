// The builders of the catalogue. Each is a pure function that makes the plan of one rank; schedule/schedule.hpp shows how to write one. The comment
// above its definition has the source in the literature and the cost. In these costs S is the length of the whole vector in bytes, P the number of
// ranks and C the largest power of two not above P; bytes are those of the busiest rank if the comment names no other.
#pragma once

#include "algorithm/catalogue.hpp"

namespace tutti {

// ring.cpp
schedule ring_all_reduce(participant at);
schedule ring_all_gather(participant at);
schedule ring_reduce_scatter(participant at);
// The two halves of ring_all_reduce, for plans with layers (parts.cpp). Between them rank r has the total of block r + 1.
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
