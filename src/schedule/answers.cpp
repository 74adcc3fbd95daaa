#include "schedule/answers.hpp"

namespace tutti {

bool may_overlap(const blocks& one, const blocks& other) noexcept {
    if (one.where != other.where) return one.where != space::scratch && other.where != space::scratch;
    return one.first < other.first + other.count && other.first < one.first + one.count;
}

const step* answering(const schedule& plan, int round, const step& sent) noexcept {
    const step* found = nullptr;
    for (int later = round; later < plan.rounds() && !found; ++later) {
        for (const step& each : plan.round(later)) {
            if (&each == &sent) continue;
            const bool touches = may_overlap(each.here, sent.here) || (each.what == action::copy && may_overlap(each.from, sent.here));
            if (!touches) continue;
            const bool fits = later > round && !found && each.what == action::recv && each.peer == sent.peer && each.here == sent.here;
            if (!fits) return nullptr;
            found = &each;
        }
    }
    return found;
}

}  // namespace tutti
