// Broadcast of large vectors: scatters the parts down a tree, then gathers them around a ring, so no rank sends more than twice the vector.
#include "algorithm/binomial.hpp"
#include "algorithm/builders.hpp"

#include <algorithm>

namespace tutti {

// Van de Geijn (Barnett et al. 1994). The root has ceil(log2(P)) + P-1 rounds and sends 2 S (P-1)/P bytes; the other ranks send fewer.
// Block v belongs to virtual rank v, so the blocks of a subtree are consecutive.
schedule scatter_broadcast(participant at) {
    schedule plan({.output = at.size});
    const binomial tree(at);
    const auto subtree = [&](int first, int span) { return output(first, std::min(span, tree.size - first)); };
    if (tree.me != 0) plan.round(recv(tree.parent(), subtree(tree.me, tree.span)));
    for (int below = tree.span / 2; below > 0; below /= 2)
        if (tree.me + below < tree.size) plan.round(send(tree.real(tree.me + below), subtree(tree.me + below, below)));
    for (int k = 0; k < tree.size - 1; ++k)
        plan.round(send(tree.real(tree.me + 1), output(wrap(tree.me - k, tree.size))),
                   recv(tree.real(tree.me - 1), output(wrap(tree.me - k - 1, tree.size))));
    return plan;
}

}  // namespace tutti
