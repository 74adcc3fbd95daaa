#include "schedule/answers.hpp"

namespace tutti {

bool may_overlap(const blocks& one, const blocks& other) noexcept {
    if (one.where != other.where) return one.where != space::scratch && other.where != space::scratch;
    return one.first < other.first + other.count && other.first < one.first + one.count;
}

bool touches(const step& other, const step& which) noexcept {
    return may_overlap(other.here, which.here) || (other.what == action::copy && may_overlap(other.from, which.here));
}

const step* answering(const schedule& plan, int round, const step& sent) noexcept {
    const step* found = nullptr;
    for (int later = round; later < plan.rounds() && !found; ++later) {
        for (const step& each : plan.round(later)) {
            if (&each == &sent) continue;
            if (!touches(each, sent)) continue;
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
    const step* first = nullptr;
    std::size_t parts = 0;
    for (const step& each : plan.round(round)) {
        if (&each != &reduced && !touches(each, reduced)) continue;
        if (each.what != action::recv_reduce || each.here != reduced.here || hosts.host(each.peer) != hosts.host(me)) return false;
        if ((&each != &reduced && each.peer == reduced.peer) || !returning(plan, round, each)) return false;
        if (!first) first = &each;
        ++parts;
    }
    return first != &reduced && parts <= most_merged;
}

}  // namespace tutti
