// One rank of each host, its leader, speaks for it. The other ranks of the host reach it through shared memory, and only leaders send to other
// hosts. H is the number of hosts, L the ranks of the largest. Kielmann et al. 1999, Karonis et al. 2000.
#include "algorithm/builders.hpp"
#include "algorithm/team.hpp"

namespace tutti {
namespace {

using builder = schedule (*)(participant);

int hosts_of(participant at) { return at.hosts->count(); }

/// Reduces within each host to its leader, calls `between` among the leaders on `parts` blocks, and broadcasts within each host.
schedule all_reduce_between(participant at, int parts, builder between) {
    const layers all(at);
    schedule plan({.output = parts});
    append(plan, tree_reduce(all.host.at()), all.host, evenly(1, parts));
    if (all.leaders.me >= 0) append(plan, between(all.leaders.at()), all.leaders, evenly(parts));
    append(plan, tree_broadcast(all.host.at()), all.host, evenly(1, parts));
    return plan;
}

schedule broadcast_between(participant at, int parts, builder between) {
    const layers all(at);
    schedule plan({.output = parts});
    if (all.leaders.me >= 0) append(plan, between(all.leaders.at()), all.leaders, evenly(parts));
    append(plan, tree_broadcast(all.host.at()), all.host, evenly(1, parts));
    return plan;
}

}  // namespace

// Recursive doubling between the leaders. With powers of two: 2 log2(L) + log2(H) rounds; a leader sends S (log2(L) + log2(H)) bytes, of these
// S log2(H) to other hosts, and reduces as many.
schedule leaders_all_reduce(participant at) { return all_reduce_between(at, 1, recursive_doubling_all_reduce); }

// A ring of leaders. 2 ceil(log2(L)) + 2(H-1) rounds; a leader sends S ceil(log2(L)) + 2 S (H-1)/H bytes, the latter to other hosts.
schedule leaders_ring_all_reduce(participant at) { return all_reduce_between(at, hosts_of(at), ring_all_reduce); }

// Trees between hosts, then within. At most ceil(log2(H)) + ceil(log2(L)) rounds; the root sends S to as many, ceil(log2(H)) of them on other
// hosts.
schedule leaders_broadcast(participant at) { return broadcast_between(at, 1, tree_broadcast); }

// Scatter and ring between hosts, a tree within. The root has ceil(log2(H)) + H-1 + ceil(log2(L)) rounds and sends 2 S (H-1)/H bytes to other
// hosts, S ceil(log2(L)) to its own.
schedule leaders_scatter_broadcast(participant at) { return broadcast_between(at, hosts_of(at), scatter_broadcast); }

// The trees of leaders_broadcast in reverse. As many rounds; the root receives and reduces as many bytes as it sends there.
schedule leaders_reduce(participant at) {
    const layers all(at);
    schedule plan({.output = 1});
    append(plan, tree_reduce(all.host.at()), all.host, evenly(1));
    if (all.leaders.me >= 0) append(plan, tree_reduce(all.leaders.at()), all.leaders, evenly(1));
    return plan;
}

// Each rank reports to its leader, the leaders have a barrier, and release their hosts. 2 ceil(log2(L)) + ceil(log2(H)) rounds, no bytes.
schedule leaders_barrier(participant at) { return all_reduce_between(at, 1, dissemination_barrier); }

// Leaders collect their host's blocks in one round, exchange them by Bruck's algorithm, and send the whole down a tree. At most
// 1 + ceil(log2(H)) + ceil(log2(L)) rounds; a leader receives all blocks of other hosts once, and sends S ceil(log2(L)) bytes to its own.
schedule leaders_all_gather(participant at) {
    const layers all(at);
    schedule plan({.output = at.size});
    const rank leader = all.host.ranks[static_cast<std::size_t>(all.host.root)];
    if (at.me != leader) plan.add(send(leader, output(at.me)));
    else
        for (const rank each : all.host.ranks)
            if (each != leader) plan.add(recv(each, output(each)));
    plan.end_round();
    cut by_host;
    for (int host = 0; host < hosts_of(at); ++host) {
        auto& theirs = by_host.emplace_back();
        for (const rank each : at.hosts->ranks(host)) theirs.push_back(output(each));
    }
    if (all.leaders.me >= 0) append(plan, bruck_all_gather(all.leaders.at()), all.leaders, by_host);
    append(plan, tree_broadcast(all.host.at()), all.host, evenly(1, at.size));
    return plan;
}

}  // namespace tutti
