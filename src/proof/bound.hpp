// What no algorithm can beat on the network of proof/simulate.hpp.
#pragma once

#include "algorithm/catalogue.hpp"
#include "proof/simulate.hpp"

namespace tutti {

/// Seconds of a collective of the catalogue, of a whole vector of so many bytes. The largest of three bounds:
///
///   to reach all    every rank depends on some other one, in a broadcast on the root. Who has heard may pass it on, a message each
///                   `overhead`, heard `latency + overhead` later: Bar-Noy and Kipnis 1994, the postal model. Without overhead: latency.
///   bytes           the busiest card receives R bytes, and none before latency and overhead: latency + overhead + R / bandwidth
///   to combine      the busiest rank combines C bytes, also not before: latency + overhead + C / reduce_bandwidth
///
/// With S the vector and P ranks, R = S for broadcast, reduce and prefixes, S (P-1)/P where ranks or the root have a block for or from each
/// rank (Chan, Heimlich, Purkayastha and van de Geijn 2007; in a scatter it is what the root sends), 2 S (P-1)/P for all_reduce (Patarasu
/// and Yuan 2009); C = S (P-1)/P where there is a sum, S (P-2)/P in an exclusive_scan. With a count for each rank: of equal counts.
double lower_bound_seconds(collective kind, int size, double vector_bytes, const network& over);

}  // namespace tutti
