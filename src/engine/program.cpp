#include "engine/program.hpp"

#include <algorithm>

namespace tutti {

program::program(schedule plan, int largest) : plan_(std::move(plan)), largest_(std::max(1, largest)) {
    int index = 0;
    for (int round = 0; round < plan_.rounds(); ++round) {
        first_step_.push_back(index);
        index += static_cast<int>(plan_.round(round).size());
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
    for (rank each = 0; each < where.size; ++each) largest = std::max(largest, largest_transfer(algorithm.build({each, where.size, 0})));
    return std::make_shared<const program>(algorithm.build(where), largest);
}

}  // namespace tutti
