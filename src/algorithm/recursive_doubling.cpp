// Partners at distance 1, 2, 4, ... exchange everything that they have. The fewest rounds: for small vectors.
#include "algorithm/builders.hpp"
#include "algorithm/fold.hpp"

namespace tutti {

// Thakur, Rabenseifner and Gropp 2005. Log2(C) rounds, S log2(C) bytes sent and reduced per rank. When P is no power of two: two rounds more, and
// the odd rank of a pair sends and reduces S more.
schedule recursive_doubling_all_reduce(participant at) {
    schedule plan({.output = 1});
    const fold folded(at.size);
    if (folded.sits_out(at.me)) {
        plan.round(send(at.me + 1, output(0)));
        plan.round(recv(at.me + 1, output(0)));
        return plan;
    }
    if (folded.paired(at.me)) plan.round(recv_reduce(at.me - 1, output(0)));
    for (int distance = 1; distance < folded.core; distance *= 2) {
        const rank partner = folded.real(folded.number(at.me) ^ distance);
        plan.round(send(partner, output(0)), recv_reduce(partner, output(0)));
    }
    if (folded.paired(at.me)) plan.round(send(at.me - 1, output(0)));
    return plan;
}

// Textbook, powers of two only. Log2(P) rounds, S (P-1)/P bytes sent per rank.
schedule recursive_doubling_all_gather(participant at) {
    schedule plan({.output = at.size});
    for (int have = 1; have < at.size; have *= 2) {
        const rank partner = at.me ^ have;
        plan.round(send(partner, output(at.me / have * have, have)), recv(partner, output(partner / have * have, have)));
    }
    return plan;
}

}  // namespace tutti
