// Each rank of a host speaks for a part of the vector. So all ranks have equally much to do, and no byte passes between two hosts twice.
#include "algorithm/builders.hpp"
#include "algorithm/team.hpp"

#include "algorithm/wrap.hpp"

namespace tutti {

// Cho et al. 2019. On H hosts of L ranks: reduce-scatter within hosts, all-reduce of each part between the ranks of one number, all-gather within
// hosts. All three are rings. 2(L-1) + 2(H-1) rounds; per rank 2 S (P-1)/P bytes sent, and S (P-1)/P reduced, as in a ring of all ranks. Of the
// bytes sent, 2 S/L (H-1)/H go to another host.
schedule parts_all_reduce(participant at) {
    const layers all(at);
    const int hosts = at.hosts->count(), ranks = static_cast<int>(all.host.ranks.size());
    const int part = wrap(all.host.me + 1, ranks);  // the one whose sum ring_to_parts leaves here
    team peers{{}, at.hosts->host(at.me)};
    for (int host = 0; host < hosts; ++host) peers.ranks.push_back(at.hosts->ranks(host)[static_cast<std::size_t>(all.host.me)]);
    schedule plan({.output = ranks * hosts});
    append(plan, ring_to_parts(all.host.at()), all.host, evenly(ranks, hosts));
    append(plan, ring_all_reduce(peers.at()), peers, evenly(hosts, 1, part * hosts));
    append(plan, ring_from_parts(all.host.at()), all.host, evenly(ranks, hosts));
    return plan;
}

}  // namespace tutti
