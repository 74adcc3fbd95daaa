// Prefix reductions: rank r ends with what ranks 0 to r contributed, or with exclusive_scan 0 to r - 1.
#include "algorithm/builders.hpp"

namespace tutti {
namespace {

// What ranks `first` and above hold becomes the combination of theirs and all before it, from `first` on.
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

// Everybody's contribution moves one rank up, then ranks 1 and above scan. 1 + ceil(log2(P-1)) rounds and so many S bytes sent by rank 1,
// and one S less reduced by the last.
schedule doubling_exclusive_scan(participant at) {
    schedule plan({.output = 1, .scratch = at.me > 0 ? 1 : 0});
    if (at.me + 1 < at.size) plan.add(send(at.me + 1, output(0)));
    if (at.me > 0) {
        plan.add(recv(at.me - 1, scratch(0)));
        plan.add(copy(output(0), scratch(0)));
    }
    plan.end_round();
    double_up(plan, at, 1);
    return plan;
}

// Textbook. 2 rounds a rank, S bytes sent and reduced; P-1 messages in a row, but a slice goes on while the next one arrives.
schedule chain_scan(participant at) {
    schedule plan({.output = 1});
    if (at.me > 0) plan.round(recv_reduce(at.me - 1, output(0)));
    if (at.me + 1 < at.size) plan.round(send(at.me + 1, output(0)));
    return plan;
}

}  // namespace tutti
