// Each rank sends to its right neighbour only, and a slice is sent on while the next one arrives. For large vectors.
#include "algorithm/builders.hpp"
#include "algorithm/wrap.hpp"

namespace tutti {
namespace {

// Sends block me - k on in round k, and adds to block me - k - 1. At the end rank r has the total of block r + 1.
void reduce_around(schedule& plan, participant at) {
    const rank next = wrap(at.me + 1, at.size), previous = wrap(at.me - 1, at.size);
    for (int k = 0; k < at.size - 1; ++k)
        plan.round(send(next, output(wrap(at.me - k, at.size))), recv_reduce(previous, output(wrap(at.me - k - 1, at.size))));
}

// Sends block mine - k on in round k. At the end every rank has every block.
void gather_around(schedule& plan, participant at, int mine) {
    const rank next = wrap(at.me + 1, at.size), previous = wrap(at.me - 1, at.size);
    for (int k = 0; k < at.size - 1; ++k)
        plan.round(send(next, output(wrap(mine - k, at.size))), recv(previous, output(wrap(mine - k - 1, at.size))));
}

}  // namespace

// Patarasu and Yuan 2009. Reduce-scatter, then all-gather. 2(P-1) rounds, 2 S (P-1)/P bytes sent, S (P-1)/P bytes reduced per rank.
schedule ring_all_reduce(participant at) {
    schedule plan({.output = at.size});
    reduce_around(plan, at);
    gather_around(plan, at, at.me + 1);
    return plan;
}

schedule ring_to_parts(participant at) {
    schedule plan({.output = at.size});
    reduce_around(plan, at);
    return plan;
}

schedule ring_from_parts(participant at) {
    schedule plan({.output = at.size});
    gather_around(plan, at, at.me + 1);
    return plan;
}

// Textbook. P-1 rounds, S (P-1)/P bytes sent per rank.
schedule ring_all_gather(participant at) {
    schedule plan({.output = at.size});
    gather_around(plan, at, at.me);
    return plan;
}

// The first half of the ring all-reduce, with the partial sum in one scratch block. P-1 rounds, S (P-1)/P bytes sent and reduced.
schedule ring_reduce_scatter(participant at) {
    schedule plan({.input = at.size, .output = 1, .scratch = at.size > 2 ? 1 : 0});
    const rank next = wrap(at.me + 1, at.size), previous = wrap(at.me - 1, at.size);
    for (int k = 1; k < at.size; ++k) {
        const bool last = k == at.size - 1;
        plan.add(send(next, k == 1 ? input(previous) : scratch(0)));
        if (!last) plan.add(copy(scratch(0), input(wrap(at.me - k - 1, at.size))));
        plan.add(recv_reduce(previous, last ? output(0) : scratch(0)));  // of block me - k - 1; the last one is this rank's own
        plan.end_round();
    }
    return plan;
}

}  // namespace tutti
