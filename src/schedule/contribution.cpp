#include "schedule/contribution.hpp"

#include <algorithm>

namespace tutti {

contribution::contribution(const schedule& plan)
    : read_by_(plan.steps().size()),
      mixed_(static_cast<std::size_t>(plan.spaces().output)),
      written_(mixed_.size()) {
    std::size_t first = 0;
    for (int round = 0; round < plan.rounds(); ++round) {
        const auto steps = plan.round(round);
        // In the order in which memory is used: sends read before anything lands, reductions and copies follow at the round's end.
        for (std::size_t at = 0; at < steps.size(); ++at)
            if (steps[at].what == action::send) read_by_[first + at] = read(steps[at].here);
        for (const step& each : steps)
            if (each.what == action::recv) write(each.here);
        for (std::size_t at = 0; at < steps.size(); ++at) {
            const step& each = steps[at];
            if (each.what != action::recv_reduce && each.what != action::copy) continue;
            read_by_[first + at] = read(each.what == action::copy ? each.from : each.here);
            write(each.here);
        }
        first += steps.size();
    }
    stays_ = mixed_;
    for (std::size_t block = 0; block < stays_.size(); ++block)
        if (!written_[block]) stays_[block] = true;
    any_stays_ = std::find(stays_.begin(), stays_.end(), true) != stays_.end();
}

bool contribution::read(const blocks& what) {
    if (what.where != space::output) return false;
    const auto begin = written_.begin() + what.first, end = begin + what.count;
    const auto written = std::count(begin, end, true);
    if (written == 0) return true;
    if (written == what.count) return false;
    for (int block = what.first; block < what.first + what.count; ++block) {
        const auto index = static_cast<std::size_t>(block);
        if (!written_[index]) mixed_[index] = written_[index] = true;  // in place from now on, as written blocks are
    }
    return false;
}

void contribution::write(const blocks& what) {
    if (what.where == space::output) std::fill_n(written_.begin() + what.first, what.count, true);
}

}  // namespace tutti
