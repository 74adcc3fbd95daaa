// A lower bound of every algorithm's time on the network of proof/simulate.hpp.
#pragma once

#include "algorithm/catalogue.hpp"
#include "proof/simulate.hpp"

namespace tutti {

/// Returns seconds that no algorithm can beat, for a whole vector of `vector_bytes`: the largest of three bounds.
///
///   to reach all    every rank depends on some other rank, in a broadcast on the root. A rank that has heard may pass it on with one message each
///                   `overhead`, heard `latency + overhead` later: Bar-Noy and Kipnis 1994, the postal model. Without overhead: latency.
///   bytes           the busiest card receives R bytes, the first after latency and overhead: latency + overhead + R / bandwidth
///   to combine      the busiest rank combines C bytes, the first as late: latency + overhead + C / reduce_bandwidth
///
/// With S the vector and P ranks, R is
///
///   S              for broadcast, reduce and prefixes
///   S (P-1)/P      where ranks or the root have a block for or from each rank; in a scatter the root sends it (Chan, Heimlich, Purkayastha and
///                  van de Geijn 2007)
///   2 S (P-1)/P    for all_reduce (Patarasu and Yuan 2009)
///
/// and C is S (P-1)/P where there is a sum, S (P-2)/P in an exclusive_scan. Collectives with a count for each rank: as with equal counts.
double lower_bound_seconds(collective kind, int size, double vector_bytes, const network& over);

}  // namespace tutti
