#include "proof/bound.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <vector>

namespace tutti {
namespace {

/// Returns the time until one rank has reached all others, if each rank that has heard passes it on at once.
double reach_seconds(int size, const network& over) {
    if (over.overhead <= 0) return over.latency;
    // When each rank that has heard can deliver its next message.
    std::priority_queue<double, std::vector<double>, std::greater<>> deliveries;
    const double trip = over.latency + over.overhead;
    deliveries.push(trip);
    double last = 0;
    for (int reached = 1; reached < size; ++reached) {
        last = deliveries.top();
        deliveries.pop();
        deliveries.push(last + over.overhead);
        deliveries.push(last + trip);
    }
    return last;
}

double received_shares(collective kind, double share) noexcept {
    switch (kind) {
        case collective::broadcast:
        case collective::reduce:
        case collective::scan:
        case collective::exclusive_scan: return 1;
        case collective::all_reduce: return 2 * share;
        case collective::barrier: return 0;
        default: return share;
    }
}

}  // namespace

double lower_bound_seconds(collective kind, int size, double vector_bytes, const network& over) {
    if (size < 2) return 0;
    const double share = (size - 1.0) / size, trip = over.latency + over.overhead;
    double bound = std::max(reach_seconds(size, over), trip + vector_bytes * received_shares(kind, share) / over.bandwidth);
    if (reduces(kind) && over.reduce_bandwidth > 0) {
        const double combined = kind == collective::exclusive_scan ? (size - 2.0) / size : share;
        bound = std::max(bound, trip + vector_bytes * combined / over.reduce_bandwidth);
    }
    return bound;
}

}  // namespace tutti
