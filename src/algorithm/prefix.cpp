// Prefix reductions: rank r ends with the combined contributions of ranks 0 to r, or of ranks 0 to r - 1 in an exclusive_scan.
#include "algorithm/builders.hpp"

namespace tutti {
namespace {

// Scans the output of ranks `first` and above: each ends with the combination of ranks `first` to itself.
void double_up(schedule& plan, participant at, rank first) {
    for (int distance = 1; distance < at.size - first; distance *= 2) {
        if (at.me >= first && at.me + distance < at.size) plan.add(send(at.me + distance, output(0)));
        if (at.me - distance >= first) plan.add(recv_reduce(at.me - distance, output(0)));
        plan.end_round();
    }
}

}  // namespace

// Hillis and Steele 1986. Ceil(log2(P)) rounds, S ceil(log2(P)) bytes sent by rank 0, and reduced by the last rank.
schedule doubling_scan(participant at) {
    schedule plan({.output = 1});
    double_up(plan, at, 0);
    return plan;
}

// Each contribution moves one rank up, then ranks 1 and above scan. 1 + ceil(log2(P-1)) rounds; rank 1 sends S bytes in each, and the last rank
// reduces S in each but the first.
schedule doubling_exclusive_scan(participant at) {
    schedule plan({.output = 1, .scratch = at.me > 0 ? 1 : 0});  // a block that is being sent cannot be received into
    if (at.me + 1 < at.size) plan.add(send(at.me + 1, output(0)));
    if (at.me > 0) {
        plan.add(recv(at.me - 1, scratch(0)));
        plan.add(copy(output(0), scratch(0)));
    }
    plan.end_round();
    double_up(plan, at, 1);
    return plan;
}

// Textbook. 2 rounds of each rank, S bytes sent and reduced. P-1 messages in a row, but a slice is sent on while the next one arrives.
schedule chain_scan(participant at) {
    schedule plan({.output = 1});
    if (at.me > 0) plan.round(recv_reduce(at.me - 1, output(0)));
    if (at.me + 1 < at.size) plan.round(send(at.me + 1, output(0)));
    return plan;
}

}  // namespace tutti
