// Each rank exchanges with each other one, one partner in each round, so no rank gets several messages at once. In round k it sends to the rank k
// places to the right, and receives from the rank k places to the left.
#include "algorithm/builders.hpp"
#include "algorithm/wrap.hpp"

namespace tutti {

// Textbook. P-1 rounds, S (P-1)/P bytes sent per rank.
schedule pairwise_all_gather(participant at) {
    schedule plan({.output = at.size});
    for (int k = 1; k < at.size; ++k) {
        const rank to = wrap(at.me + k, at.size), from = wrap(at.me - k, at.size);
        plan.round(send(to, output(at.me)), recv(from, output(from)));
    }
    return plan;
}

// Textbook. P-1 rounds, S (P-1)/P bytes sent and reduced per rank.
schedule pairwise_reduce_scatter(participant at) {
    schedule plan({.input = at.size, .output = 1});
    for (int k = 1; k < at.size; ++k) {
        const rank to = wrap(at.me + k, at.size), from = wrap(at.me - k, at.size);
        plan.round(send(to, input(to)), recv_reduce(from, output(0)));
    }
    return plan;
}

// Textbook. P-1 rounds (one copy when alone), S (P-1)/P bytes sent per rank.
schedule pairwise_all_to_all(participant at) {
    schedule plan({.input = at.size, .output = at.size});
    plan.add(copy(output(at.me), input(at.me)));
    for (int k = 1; k < at.size; ++k) {
        const rank to = wrap(at.me + k, at.size), from = wrap(at.me - k, at.size);
        plan.round(send(to, input(to)), recv(from, output(from)));
    }
    plan.end_round();
    return plan;
}

}  // namespace tutti
