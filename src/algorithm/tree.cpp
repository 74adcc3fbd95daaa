// Binomial trees: the root reaches all ranks, or all ranks reach it, in ceil(log2(P)) rounds. For small vectors.
#include "algorithm/binomial.hpp"
#include "algorithm/builders.hpp"
#include "algorithm/fold.hpp"

#include <algorithm>

namespace tutti {
namespace {

// Sends to the largest subtree first, because the way to its leaves is the longest.
void spread(schedule& plan, const binomial& tree) {
    if (tree.me != 0) plan.round(recv(tree.parent(), output(0)));
    for (int below = tree.span / 2; below > 0; below /= 2)
        if (tree.me + below < tree.size) plan.round(send(tree.real(tree.me + below), output(0)));
}

void collect(schedule& plan, const binomial& tree) {
    for (int below = 1; below < tree.span; below *= 2)
        if (tree.me + below < tree.size) plan.round(recv_reduce(tree.real(tree.me + below), output(0)));
    if (tree.me != 0) plan.round(send(tree.parent(), output(0)));
}

// Reduces to rank 0 in the order of ranks. First pairs are combined until a power of two is left, then neighbours, then neighbours of neighbours.
// Recursive doubling combines in the same order and grouping.
void collect_in_order(schedule& plan, participant at) {
    const fold folded(at.size);
    const auto lowest = [&](int number) { return number + std::min(number, folded.extra); };
    if (folded.paired(at.me) && !folded.sits_out(at.me)) {
        plan.round(send(at.me - 1, output(0)));
        return;
    }
    if (folded.paired(at.me)) plan.round(recv_reduce(at.me + 1, output(0)));
    const int number = folded.number(at.me);
    int below = 1;
    for (; below < folded.core && !(number & below); below *= 2) plan.round(recv_reduce(lowest(number + below), output(0)));
    if (number != 0) plan.round(send(lowest(number - below), output(0)));
}

}  // namespace

// Textbook. Ceil(log2(P)) rounds; the root sends S ceil(log2(P)) bytes.
schedule tree_broadcast(participant at) {
    schedule plan({.output = 1});
    spread(plan, binomial(at));
    return plan;
}

// tree_broadcast in reverse. Ceil(log2(P)) rounds; the root receives and reduces S ceil(log2(P)) bytes.
schedule tree_reduce(participant at) {
    schedule plan({.output = 1});
    collect(plan, binomial(at));
    return plan;
}

// Textbook. To rank 0 in the order of ranks, and from there to the root. Ceil(log2(P)) rounds, and one more if the root is not rank 0, which receives
// and reduces S ceil(log2(P)) bytes.
schedule ordered_tree_reduce(participant at) {
    schedule plan({.output = 1});
    collect_in_order(plan, at);
    if (at.root != 0 && at.me == 0) plan.round(send(at.root, output(0)));
    if (at.root != 0 && at.me == at.root) plan.round(recv(0, output(0)));
    return plan;
}

// Textbook. Reduces to rank 0 in the order of ranks, then broadcasts. 2 ceil(log2(P)) rounds; rank 0 sends and reduces S ceil(log2(P)) bytes.
schedule tree_all_reduce(participant at) {
    schedule plan({.output = 1});
    collect_in_order(plan, at);
    spread(plan, binomial({at.me, at.size, 0}));
    return plan;
}

}  // namespace tutti
