// Rank 0 sums all contributions, in the order of ranks, and sends the result back: two rounds for any number of ranks. For few ranks and very small
// vectors.
#include "algorithm/builders.hpp"

namespace tutti {

// Textbook. 2 rounds; rank 0 receives, reduces and sends S (P-1) bytes.
schedule star_all_reduce(participant at) {
    schedule plan({.output = 1});
    if (at.me != 0) {
        plan.round(send(0, output(0)));
        plan.round(recv(0, output(0)));
        return plan;
    }
    for (rank peer = 1; peer < at.size; ++peer) plan.add(recv_reduce(peer, output(0)));
    plan.end_round();
    for (rank peer = 1; peer < at.size; ++peer) plan.add(send(peer, output(0)));
    plan.end_round();
    return plan;
}

}  // namespace tutti
