#include "engine/program.hpp"

#include <algorithm>

namespace tutti {

/// Input and output may be the same memory.
static bool may_overlap(const blocks& one, const blocks& other) noexcept {
    if (one.where != other.where) return one.where != space::scratch && other.where != space::scratch;
    return one.first < other.first + other.count && other.first < one.first + one.count;
}

static bool alone_in(std::span<const step> round, const step& which) noexcept {
    for (const step& other : round)
        if (&other != &which && (may_overlap(other.here, which.here) || (other.what == action::copy && may_overlap(other.from, which.here)))) return false;
    return true;
}

program::program(schedule plan, int largest) : plan_(std::move(plan)), largest_(std::max(1, largest)) {
    int index = 0;
    for (int round = 0; round < plan_.rounds(); ++round) {
        first_step_.push_back(index);
        const auto steps = plan_.round(round);
        index += static_cast<int>(steps.size());
        for (const step& each : steps) at_once_.push_back(each.what == action::recv_reduce && alone_in(steps, each));
    }
    first_step_.push_back(index);
    sort(action::send, action::send, senders_);
    sort(action::recv, action::recv_reduce, receivers_);
    for (const step& each : plan_.steps()) writes_output_ |= each.what != action::send && each.here.where == space::output;
}

void program::sort(action first, action second, std::vector<channel>& into) {
    for (int round = 0; round < plan_.rounds(); ++round) {
        const auto steps = plan_.round(round);
        std::vector<rank> done;
        for (std::size_t at = 0; at < steps.size(); ++at) {
            const step& begin = steps[at];
            if ((begin.what != first && begin.what != second) || std::find(done.begin(), done.end(), begin.peer) != done.end()) continue;
            done.push_back(begin.peer);
            group next{round, static_cast<int>(order_.size()), 0};
            for (std::size_t other = at; other < steps.size(); ++other) {
                const step& same = steps[other];
                if ((same.what != first && same.what != second) || same.peer != begin.peer) continue;
                order_.push_back(first_step(round) + static_cast<int>(other));
                ++next.count;
            }
            auto place = std::find_if(into.begin(), into.end(), [&](const channel& each) { return each.peer == begin.peer; });
            if (place == into.end()) place = into.insert(into.end(), channel{begin.peer, {}});
            place->groups.push_back(next);
        }
    }
}

int largest_transfer(const schedule& plan) noexcept {
    int largest = 0;
    for (const step& each : plan.steps())
        if (each.what != action::copy) largest = std::max(largest, each.here.count);
    return largest;
}

std::shared_ptr<const program> compile(const algorithm& algorithm, place where) {
    int largest = 0;
    for (rank each = 0; each < where.size; ++each) largest = std::max(largest, largest_transfer(algorithm.build({each, where.size, 0, where.hosts})));
    return std::make_shared<const program>(algorithm.build(where), largest);
}

}  // namespace tutti
