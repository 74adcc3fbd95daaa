// Reduce-scatter by halving the vector, all-gather by doubling it: few rounds and few bytes, the choice in the middle.
#include "algorithm/builders.hpp"
#include "algorithm/fold.hpp"

namespace tutti {

// Rabenseifner 2004. 2 log2(P) rounds, 2 S (P-1)/P bytes sent and S (P-1)/P bytes reduced per rank when P is a power of two;
// otherwise, with C the power of two below P, 2 log2(C) + 2 rounds, and the odd rank of a pair sends 2 S (C-1)/C + S.
schedule halving_doubling_all_reduce(place at) {
    const fold folded(at.size);
    schedule plan({.output = folded.core});
    const blocks whole = output(0, folded.core);
    if (folded.sits_out(at.me)) {
        plan.round(send(at.me + 1, whole));
        plan.round(recv(at.me + 1, whole));
        return plan;
    }
    if (folded.paired(at.me)) plan.round(recv_reduce(at.me - 1, whole));
    const int number = folded.number(at.me);
    for (int half = folded.core / 2; half > 0; half /= 2) {
        const int partner = number ^ half;
        plan.round(send(folded.real(partner), output(partner / half * half, half)),
                   recv_reduce(folded.real(partner), output(number / half * half, half)));
    }
    for (int have = 1; have < folded.core; have *= 2) {
        const int partner = number ^ have;
        plan.round(send(folded.real(partner), output(number / have * have, have)),
                   recv(folded.real(partner), output(partner / have * have, have)));
    }
    if (folded.paired(at.me)) plan.round(send(at.me - 1, whole));
    return plan;
}

}  // namespace tutti
