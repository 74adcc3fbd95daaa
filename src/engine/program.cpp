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
    find_answers();
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

std::size_t program::answer::place(std::size_t slice, std::size_t slices, std::size_t segment) const noexcept {
    const std::size_t first = slice - slice % segment, here = std::min(slices - first, segment);
    return first * all + here * before + (slice - first) * beside + inside;
}

/// The step that takes from its peer what belongs into the blocks of a send, or -1.
int program::answering(int round, const step& sent) const noexcept {
    int found = -1;
    for (int later = round; later < plan_.rounds() && found < 0; ++later) {
        const auto steps = plan_.round(later);
        for (const step& each : steps) {
            if (&each == &sent) continue;
            const bool touches = may_overlap(each.here, sent.here) || (each.what == action::copy && may_overlap(each.from, sent.here));
            if (!touches) continue;
            const bool fits = later > round && found < 0 && each.what == action::recv && each.peer == sent.peer && each.here == sent.here;
            if (!fits) return -1;
            found = first_step(later) + static_cast<int>(&each - steps.data());
        }
    }
    return found;
}

void program::find_answers() {
    answers_.resize(plan_.steps().size());
    is_answer_.resize(plan_.steps().size());
    for (int round = 0; round < plan_.rounds(); ++round) {
        const auto steps = plan_.round(round);
        for (std::size_t at = 0; at < steps.size(); ++at) {
            if (steps[at].what != action::send) continue;
            const int step = answering(round, steps[at]);
            if (step < 0) continue;
            answer& made = answers_[static_cast<std::size_t>(first_step(round)) + at];
            const auto from =
                std::find_if(receivers_.begin(), receivers_.end(), [&](const channel& each) { return each.peer == steps[at].peer; });
            for (const group& each : from->groups) {
                const auto begin = order_.begin() + each.first, end = begin + each.count, found = std::find(begin, end, step);
                const auto count = static_cast<std::size_t>(each.count);
                made.all += count;
                if (found != end) {
                    made.beside = count;
                    made.inside = static_cast<std::size_t>(found - begin);
                    made.step = step;
                } else if (made.step < 0) {
                    made.before += count;
                }
            }
            is_answer_[static_cast<std::size_t>(step)] = true;
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
