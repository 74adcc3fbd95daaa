// Each pair of ranks that has blocks for each other exchanges them directly, all in one round. Each rank begins with its right neighbour, so the
// ranks do not all send to the same receiver first.
#include "algorithm/builders.hpp"
#include "algorithm/wrap.hpp"

namespace tutti {

/// Adds the parts of lower ranks from the nearest down, then those of higher ranks from the nearest up. A lower rank's part becomes the left
/// operand and a higher rank's the right one, so the sum is in the order of ranks.
static void add_parts_of_others(schedule& plan, participant at, const blocks& to) {
    for (rank lower = at.me - 1; lower >= 0; --lower) plan.add(recv_reduce(lower, to));
    for (rank higher = at.me + 1; higher < at.size; ++higher) plan.add(recv_reduce(higher, to));
}

// Textbook. 2 rounds, 2 S (P-1)/P bytes sent per rank in 2 (P-1) messages, S (P-1)/P reduced. Rank r sums block r, in the order of ranks, and
// sends the sum to all ranks. Serves powers of two only: with 3 ranks of a host it loses more above 2 MiB than it gains below 1 MiB.
schedule direct_all_reduce(participant at) {
    schedule plan({.output = at.size});
    for (int k = 1; k < at.size; ++k) plan.add(send(wrap(at.me + k, at.size), output(wrap(at.me + k, at.size))));
    add_parts_of_others(plan, at, output(at.me));
    plan.end_round();
    const schedule rest = direct_all_gather(at);
    for (const step& each : rest.steps()) plan.add(each);
    plan.end_round();
    return plan;
}

// Textbook. 1 round, S (P-1)/P bytes sent per rank in P-1 messages.
schedule direct_all_gather(participant at) {
    schedule plan({.output = at.size});
    for (int k = 1; k < at.size; ++k) plan.add(send(wrap(at.me + k, at.size), output(at.me)));
    for (int k = 1; k < at.size; ++k) plan.add(recv(wrap(at.me - k, at.size), output(wrap(at.me - k, at.size))));
    plan.end_round();
    return plan;
}

// Textbook. 1 round, S (P-1)/P bytes sent and reduced per rank in P-1 messages. In the order of ranks.
schedule direct_reduce_scatter(participant at) {
    schedule plan({.input = at.size, .output = 1});
    for (int k = 1; k < at.size; ++k) plan.add(send(wrap(at.me + k, at.size), input(wrap(at.me + k, at.size))));
    add_parts_of_others(plan, at, output(0));
    plan.end_round();
    return plan;
}

// Textbook. 1 round, S (P-1)/P bytes sent per rank in P-1 messages.
schedule direct_all_to_all(participant at) {
    schedule plan({.input = at.size, .output = at.size});
    plan.add(copy(output(at.me), input(at.me)));
    for (int k = 1; k < at.size; ++k) plan.add(send(wrap(at.me + k, at.size), input(wrap(at.me + k, at.size))));
    for (int k = 1; k < at.size; ++k) plan.add(recv(wrap(at.me - k, at.size), output(wrap(at.me - k, at.size))));
    plan.end_round();
    return plan;
}

// Textbook. 1 round; the root receives S (P-1)/P bytes in P-1 messages.
schedule direct_gather(participant at) {
    schedule plan({.input = 1, .output = at.size});
    if (at.me != at.root) {
        plan.round(send(at.root, input(0)));
        return plan;
    }
    plan.add(copy(output(at.me), input(0)));
    for (int k = 1; k < at.size; ++k) plan.add(recv(wrap(at.me + k, at.size), output(wrap(at.me + k, at.size))));
    plan.end_round();
    return plan;
}

// Textbook. 1 round; the root sends S (P-1)/P bytes in P-1 messages.
schedule direct_scatter(participant at) {
    schedule plan({.input = at.size, .output = 1});
    if (at.me != at.root) {
        plan.round(recv(at.root, output(0)));
        return plan;
    }
    plan.add(copy(output(0), input(at.me)));
    for (int k = 1; k < at.size; ++k) plan.add(send(wrap(at.me + k, at.size), input(wrap(at.me + k, at.size))));
    plan.end_round();
    return plan;
}

}  // namespace tutti
