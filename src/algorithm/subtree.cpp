// Binomial trees in which a transfer carries the blocks of a whole subtree: few messages at the root, for small blocks and many ranks.
#include "algorithm/binomial.hpp"
#include "algorithm/builders.hpp"

#include <algorithm>
#include <vector>

namespace tutti {
namespace {

/// Blocks of consecutive virtual ranks that are consecutive ranks, too.
struct run {
    int from;    // where they begin in the subtree's scratch
    rank first;  // where they begin in the root's memory, which is in the order of ranks
    int count;
};

/// The subtree below and including a virtual rank.
struct subtree {
    const binomial& tree;
    int top;
    int count;

    subtree(const binomial& whole, int virtual_rank, int span)
        : tree(whole),
          top(virtual_rank),
          count(std::min(span, whole.size - virtual_rank)) {}

    /// Returns one run, or two if the subtree passes the last rank. Both ends of a transfer with the root cut it there.
    std::vector<run> at_root() const {
        const int straight = std::min(count, tree.size - tree.real(top));
        std::vector<run> runs{{0, tree.real(top), straight}};
        if (straight < count) runs.push_back({straight, 0, count - straight});
        return runs;
    }
    /// Returns the runs that its top exchanges with its parent: a child of the root cuts as the root does.
    std::vector<run> at_parent() const { return top == tree.span ? at_root() : std::vector<run>{{0, 0, count}}; }
};

}  // namespace

// Textbook. Ceil(log2(P)) rounds; the root receives S (P-1)/P bytes. Inner ranks keep the blocks of their subtree in scratch.
schedule tree_gather(participant at) {
    const binomial tree(at);
    const subtree mine(tree, tree.me, tree.span);
    const bool root = tree.me == 0, leaf = mine.count == 1;
    schedule plan({.input = 1, .output = at.size, .scratch = root || leaf ? 0 : mine.count});
    if (root) plan.add(copy(output(at.me), input(0)));
    else if (!leaf) plan.add(copy(scratch(0), input(0)));
    for (int below = 1; below < tree.span && tree.me + below < tree.size; below *= 2) {
        const subtree theirs(tree, tree.me + below, below);
        const rank child = tree.real(theirs.top);
        if (!root) plan.add(recv(child, scratch(below, theirs.count)));
        else
            for (const run& each : theirs.at_root()) plan.add(recv(child, output(each.first, each.count)));
        plan.end_round();
    }
    if (!root && leaf) plan.add(send(tree.parent(), input(0)));
    else if (!root)
        for (const run& each : mine.at_parent()) plan.add(send(tree.parent(), scratch(each.from, each.count)));
    plan.end_round();
    return plan;
}

// tree_gather in reverse. Ceil(log2(P)) rounds; the root sends S (P-1)/P bytes.
schedule tree_scatter(participant at) {
    const binomial tree(at);
    const subtree mine(tree, tree.me, tree.span);
    const bool root = tree.me == 0, leaf = mine.count == 1;
    schedule plan({.input = at.size, .output = 1, .scratch = root || leaf ? 0 : mine.count});
    if (root) plan.add(copy(output(0), input(at.me)));
    else if (leaf) plan.round(recv(tree.parent(), output(0)));
    else {
        for (const run& each : mine.at_parent()) plan.add(recv(tree.parent(), scratch(each.from, each.count)));
        plan.round(copy(output(0), scratch(0)));
    }
    for (int below = tree.span / 2; below > 0; below /= 2) {
        if (tree.me + below >= tree.size) continue;
        const subtree theirs(tree, tree.me + below, below);
        const rank child = tree.real(theirs.top);
        if (!root) plan.add(send(child, scratch(below, theirs.count)));
        else
            for (const run& each : theirs.at_root()) plan.add(send(child, input(each.first, each.count)));
        plan.end_round();
    }
    plan.end_round();
    return plan;
}

}  // namespace tutti
