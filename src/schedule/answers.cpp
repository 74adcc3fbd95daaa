#include "schedule/answers.hpp"

#include <algorithm>

namespace tutti {

const step* answering(const schedule& plan, int round, const step& sent) noexcept {
    const step* found = nullptr;
    for (int later = round; later < plan.rounds() && !found; ++later) {
        for (const step& each : plan.round(later)) {
            if (!touches(each, sent) || &each == &sent) continue;
            const bool fits = later > round && !found && each.what == action::recv && each.peer == sent.peer && each.here == sent.here;
            if (!fits) return nullptr;
            found = &each;
        }
    }
    return found;
}

const step* returning(const schedule& plan, int round, const step& reduced) noexcept {
    for (int later = round + 1; later < plan.rounds(); ++later) {
        const auto steps = plan.round(later);
        for (const step& each : steps)
            if (each.what == action::send && each.peer == reduced.peer && each.here == reduced.here) return &each;
        for (const step& each : steps)
            if (each.what != action::send && may_overlap(each.here, reduced.here)) return nullptr;
    }
    return nullptr;
}

bool merged(const schedule& plan, int round, const step& reduced, rank me, const host_map& hosts) noexcept {
    const step* parts[most_merged]{};
    std::size_t count = 0;
    for (const step& each : plan.round(round)) {
        if (&each != &reduced && !touches(each, reduced)) continue;
        if (each.what != action::recv_reduce || each.here != reduced.here || hosts.host(each.peer) != hosts.host(me)) return false;
        if ((&each != &reduced && each.peer == reduced.peer) || count == most_merged) return false;
        parts[count++] = &each;
    }
    // Last, for it looks at all rounds that follow.
    return parts[0] != &reduced && std::all_of(parts, parts + count, [&](const step* each) { return returning(plan, round, *each); });
}

}  // namespace tutti
