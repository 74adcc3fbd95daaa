// Binomial trees: the root reaches everybody, or is reached, in log2(P) rounds. For small vectors.
#include "algorithm/binomial.hpp"
#include "algorithm/builders.hpp"

namespace tutti {
namespace {

// The largest subtree first, it has the longest way.
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

}  // namespace

// Textbook. Ceil(log2(P)) rounds; the root sends S ceil(log2(P)) bytes.
schedule tree_broadcast(place at) {
    schedule plan({.output = 1});
    spread(plan, binomial(at));
    return plan;
}

// The same backwards. Ceil(log2(P)) rounds; the root receives and reduces S ceil(log2(P)) bytes.
schedule tree_reduce(place at) {
    schedule plan({.output = 1});
    collect(plan, binomial(at));
    return plan;
}

// To rank 0, whose subtrees are neighbouring ranks in their order, and from there to the root. Ceil(log2(P)) rounds, and one more if the root
// is another; rank 0 receives and reduces S ceil(log2(P)) bytes.
schedule ordered_tree_reduce(place at) {
    schedule plan({.output = 1});
    collect(plan, binomial({at.me, at.size, 0}));
    if (at.root != 0 && at.me == 0) plan.round(send(at.root, output(0)));
    if (at.root != 0 && at.me == at.root) plan.round(recv(0, output(0)));
    return plan;
}

// Reduce to rank 0, then broadcast. 2 ceil(log2(P)) rounds; rank 0 sends and reduces S ceil(log2(P)) bytes.
schedule tree_all_reduce(place at) {
    schedule plan({.output = 1});
    const binomial tree({at.me, at.size, 0});
    collect(plan, tree);
    spread(plan, tree);
    return plan;
}

}  // namespace tutti
