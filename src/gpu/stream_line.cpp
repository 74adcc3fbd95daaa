#include "gpu/stream_line.hpp"

#include <algorithm>

namespace tutti::gpu {

/// Adds at the end in most cases. The event of a thread that was late is sorted in by its ticket.
void stream_line::add(watched& who) {
    const auto before = [](const watched* one, const watched* other) {
        return one->what().inner()->ticket < other->what().inner()->ticket;
    };
    const auto place = std::upper_bound(waiting_.begin() + static_cast<std::ptrdiff_t>(first_), waiting_.end(), &who, before);
    waiting_.insert(place, &who);
}

/// Events of a stream come in order, so the last one that has come is found by doubling steps, and then by bisection of the last step.
std::size_t stream_line::count_ready(bool& broken) const {
    std::size_t ready = 0, pending = size();
    for (std::size_t step = 1; ready < pending; step *= 2) {
        const std::size_t tried = std::min(ready + step, pending) - 1;
        const answer said = state_of(tried).ask();
        broken = said == answer::broken;
        if (said == answer::ready) {
            ready = tried + 1;
            continue;
        }
        pending = tried;
        break;
    }
    while (!broken && ready < pending) {
        const std::size_t tried = ready + (pending - ready) / 2;
        const answer said = state_of(tried).ask();
        broken = said == answer::broken;
        (said == answer::ready ? ready : pending) = said == answer::ready ? tried + 1 : tried;
    }
    return ready;
}

answer stream_line::reap(std::vector<watched*>& out) {
    bool broken = false;
    const std::size_t ready = count_ready(broken);
    move_front(ready, out);
    if (broken) return answer::broken;
    return ready == 0 ? answer::pending : answer::ready;
}

void stream_line::take(std::vector<watched*>& out) { move_front(size(), out); }

void stream_line::move_front(std::size_t count, std::vector<watched*>& out) {
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(first_);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    first_ += count;
    if (first_ * 2 < waiting_.size()) return;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
}

}  // namespace tutti::gpu
