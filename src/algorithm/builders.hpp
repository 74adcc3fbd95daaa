// The builders of the catalogue, one per algorithm. Each is pure and costs what its comment in the .cpp file says.
#pragma once

#include "algorithm/catalogue.hpp"

namespace tutti {

// ring.cpp
schedule ring_all_reduce(place at);
schedule ring_all_gather(place at);
schedule ring_reduce_scatter(place at);
// The halves of ring_all_reduce, for larger plans: between them rank r has the total of block r + 1.
schedule ring_to_parts(place at);
schedule ring_from_parts(place at);
// recursive_doubling.cpp
schedule recursive_doubling_all_reduce(place at);
schedule recursive_doubling_all_gather(place at);  // powers of two
// halving_doubling.cpp
schedule halving_doubling_all_reduce(place at);
schedule halving_once_all_reduce(place at);   // from 4 ranks
schedule halving_twice_all_reduce(place at);  // from 8 ranks
schedule halving_reduce_scatter(place at);
// tree.cpp
schedule tree_broadcast(place at);
schedule tree_reduce(place at);
schedule ordered_tree_reduce(place at);
schedule tree_all_reduce(place at);
// scatter_broadcast.cpp
schedule scatter_broadcast(place at);
// star.cpp
schedule star_all_reduce(place at);
// direct.cpp
schedule direct_all_reduce(place at);
schedule direct_all_gather(place at);
schedule direct_reduce_scatter(place at);
schedule direct_all_to_all(place at);
schedule direct_gather(place at);
schedule direct_scatter(place at);
// pairwise.cpp
schedule pairwise_all_gather(place at);
schedule pairwise_reduce_scatter(place at);
schedule pairwise_all_to_all(place at);
// bruck.cpp
schedule bruck_all_gather(place at);
schedule bruck_all_to_all(place at);
// dissemination.cpp
schedule dissemination_barrier(place at);
// subtree.cpp
schedule tree_gather(place at);
schedule tree_scatter(place at);
// prefix.cpp
schedule doubling_scan(place at);
schedule doubling_exclusive_scan(place at);
schedule chain_scan(place at);
// leaders.cpp
schedule leaders_all_reduce(place at);
schedule leaders_ring_all_reduce(place at);
schedule leaders_broadcast(place at);
schedule leaders_scatter_broadcast(place at);
schedule leaders_reduce(place at);
schedule leaders_barrier(place at);
schedule leaders_all_gather(place at);
// parts.cpp
schedule parts_all_reduce(place at);

}  // namespace tutti
