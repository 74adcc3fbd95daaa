// A barrier without a centre.
#include "algorithm/builders.hpp"
#include "algorithm/wrap.hpp"

namespace tutti {

// Hensgen, Finkel and Manber 1988. Ceil(log2(P)) rounds, no bytes. It reduces, so the verifier sees that each rank has heard of all ranks.
schedule dissemination_barrier(participant at) {
    schedule plan({.output = 1});
    for (int distance = 1; distance < at.size; distance *= 2)
        plan.round(send(wrap(at.me + distance, at.size), output(0)), recv_reduce(wrap(at.me - distance, at.size), output(0)));
    return plan;
}

}  // namespace tutti
