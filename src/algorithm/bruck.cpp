// A logarithmic number of rounds for any number of ranks, because received blocks are sent on together with the own ones. For small blocks.
#include "algorithm/builders.hpp"
#include "algorithm/wrap.hpp"

#include <algorithm>
#include <vector>

namespace tutti {
namespace {

// Adds the transfer of `count` blocks of output from `first` on around the circle: two transfers where the blocks pass the end.
template <class Transfer>
void around(schedule& plan, Transfer transfer, rank peer, int first, int count, int size) {
    const int straight = std::min(count, size - first);
    plan.add(transfer(peer, output(first, straight)));
    if (straight < count) plan.add(transfer(peer, output(0, count - straight)));
}

}  // namespace

// Bruck et al. 1997, but received in place instead of rotated at the end. Ceil(log2(P)) rounds, S (P-1)/P bytes sent per rank.
schedule bruck_all_gather(participant at) {
    schedule plan({.output = at.size});
    for (int have = 1; have < at.size; have *= 2) {
        const rank to = wrap(at.me - have, at.size), from = wrap(at.me + have, at.size);
        const int count = std::min(have, at.size - have);
        around(plan, send, to, at.me, count, at.size);
        around(plan, recv, from, from, count, at.size);
        plan.end_round();
    }
    return plan;
}

// Bruck et al. 1997. A block that has to go `distance` ranks to the right makes one hop for each bit that is set in `distance`. One round of
// copies, then ceil(log2(P)) rounds; S/2 log2(P) bytes sent per rank when P is a power of two. Each round packs its blocks into one transfer.
schedule bruck_all_to_all(participant at) {
    const auto travels = [&](int hop) {  // the number of blocks that make this hop: the distances that contain its bit
        int count = 0;
        for (int distance = hop; distance < at.size; ++distance) count += (distance & hop) != 0;
        return count;
    };
    int most = 0, landed = 0;
    for (int hop = 1; hop < at.size; hop *= 2) most = std::max(most, travels(hop)), landed += travels(hop);
    schedule plan({.input = at.size, .output = at.size, .scratch = most + landed});

    std::vector<blocks> travelling;  // by distance: where the block is at this point of the plan
    for (int distance = 0; distance < at.size; ++distance) travelling.push_back(input(wrap(at.me + distance, at.size)));
    int landing = most;  // scratch 0 to most - 1 is for packing
    for (int hop = 1; hop < at.size; hop *= 2) {
        const int count = travels(hop);
        int packed = 0;
        for (int distance = hop; distance < at.size; ++distance) {
            if ((distance & hop) == 0) continue;
            plan.add(copy(scratch(packed), travelling[static_cast<std::size_t>(distance)]));
            travelling[static_cast<std::size_t>(distance)] = scratch(landing + packed++);
        }
        plan.end_round();  // the previous hop's transfers and these copies, which a round applies after its transfers
        plan.add(send(wrap(at.me + hop, at.size), scratch(0, count)));
        plan.add(recv(wrap(at.me - hop, at.size), scratch(landing, count)));
        landing += count;
    }
    for (int distance = 0; distance < at.size; ++distance)
        plan.add(copy(output(wrap(at.me - distance, at.size)), travelling[static_cast<std::size_t>(distance)]));
    plan.end_round();
    return plan;
}

}  // namespace tutti
