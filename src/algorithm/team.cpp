#include "algorithm/team.hpp"

#include "base/check.hpp"

namespace tutti {
namespace {

/// Returns the blocks of the larger plan. Consecutive ones are joined, because each is a message.
std::vector<blocks> all_of(const blocks& which, const cut& standing_for) {
    std::vector<blocks> all;
    for (int block = which.first; block < which.first + which.count; ++block)
        for (const blocks& next : standing_for[static_cast<std::size_t>(block)]) {
            if (all.empty() || all.back().first + all.back().count != next.first) all.push_back(next);
            else all.back().count += next.count;
        }
    return all;
}

}  // namespace

layers::layers(participant at) {
    const host_map& hosts = *at.hosts;
    const int mine = hosts.host(at.me), first = hosts.host(at.root);
    const auto members = hosts.ranks(mine);
    host.ranks.assign(members.begin(), members.end());
    host.me = hosts.local(at.me);
    host.root = mine == first ? hosts.local(at.root) : 0;
    for (int each = 0; each < hosts.count(); ++each) leaders.ranks.push_back(each == first ? at.root : hosts.ranks(each)[0]);
    leaders.me = host.me == host.root ? mine : -1;
    leaders.root = first;
}

cut evenly(int parts, int each, int first) {
    cut all;
    for (int part = 0; part < parts; ++part) all.push_back({output(first + part * each, each)});
    return all;
}

void append(schedule& plan, const schedule& part, const team& by, const cut& standing_for) {
    for (int round = 0; round < part.rounds(); ++round) {
        for (const step& line : part.round(round)) {
            TUTTI_CHECK(line.what != action::copy && line.here.where == space::output, "a team's plan works in its output only");
            for (const blocks& here : all_of(line.here, standing_for))
                plan.add({line.what, by.ranks[static_cast<std::size_t>(line.peer)], here, {}});
        }
        plan.end_round();
    }
}

}  // namespace tutti
