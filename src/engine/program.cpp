#include "engine/program.hpp"

#include "schedule/answers.hpp"

#include <algorithm>

namespace tutti {

static bool alone_in(std::span<const step> round, const step& which) noexcept {
    for (const step& other : round)
        if (&other != &which && touches(other, which)) return false;
    return true;
}

/// Returns whether other steps of the round, each from its own peer, are reduced into the same blocks, and no further step touches them.
static bool among_equals(std::span<const step> round, const step& which) noexcept {
    bool others = false;
    for (const step& other : round) {
        if (&other == &which || !touches(other, which)) continue;
        if (other.what != action::recv_reduce || other.here != which.here || other.peer == which.peer) return false;
        others = true;
    }
    return others;
}

static bool applies(const step& which) noexcept { return which.what == action::recv_reduce || which.what == action::copy; }

program::program(schedule plan, int largest) : plan_(std::move(plan)), contributed_(plan_), largest_(std::max(1, largest)) {
    int index = 0;
    for (int round = 0; round < plan_.rounds(); ++round) {
        first_step_.push_back(index);
        const auto steps = plan_.round(round);
        index += static_cast<int>(steps.size());
        const auto applied = std::count_if(steps.begin(), steps.end(), applies);
        transfers_.push_back(static_cast<int>(std::count_if(steps.begin(), steps.end(), is_transfer)));
        for (const step& each : steps) {
            applied_alone_.push_back(each.what == action::recv_reduce && applied == 1);
            at_once_.push_back(each.what == action::recv_reduce && alone_in(steps, each));
            together_.push_back(each.what == action::recv_reduce && among_equals(steps, each));
        }
        sums_together_.push_back(std::find(together_.begin() + first_step(round), together_.end(), true) != together_.end());
    }
    first_step_.push_back(index);
    sort(action::send, action::send, senders_);
    sort(action::recv, action::recv_reduce, receivers_);
    find_answers();
    find_rest();
    for (const step& each : plan_.steps()) writes_output_ |= each.what != action::send && each.here.where == space::output;
}

/// Collects the steps of these kinds by peer, and each peer's by round: one group per round.
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
            auto found = std::find_if(into.begin(), into.end(), [&](const channel& each) { return each.peer == begin.peer; });
            if (found == into.end()) found = into.insert(into.end(), channel{begin.peer, {}});
            found->groups.push_back(next);
        }
    }
}

std::size_t program::answer::frame_index(std::size_t slice, std::size_t slices, std::size_t segment) const noexcept {
    const std::size_t first = slice - slice % segment, here = std::min(slices - first, segment);
    return first * all + here * before + (slice - first) * beside + inside;
}

/// Returns where a step stands among the transfers of its peer.
program::answer program::among(const std::vector<channel>& channels, rank peer, int step) const noexcept {
    answer made;
    const auto from = std::find_if(channels.begin(), channels.end(), [peer](const channel& each) { return each.peer == peer; });
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
    return made;
}

void program::find_answers() {
    answers_.resize(plan_.steps().size());
    sums_.resize(plan_.steps().size());
    is_answer_.resize(plan_.steps().size());
    const tutti::answers all(plan_);
    for (int round = 0; round < plan_.rounds(); ++round) {
        const auto steps = plan_.round(round);
        for (std::size_t at = 0; at < steps.size(); ++at) {
            const step& one = steps[at];
            const auto index = static_cast<std::size_t>(first_step(round)) + at;
            if (at_once_[index] || together_[index]) {
                const step* const back = returning(plan_, round, one);
                if (back) sums_[index] = among(senders_, one.peer, static_cast<int>(back - plan_.steps().data()));
            }
            if (one.what != action::send) continue;
            const step* const found = all.to(one);
            if (!found) continue;
            const int by = static_cast<int>(found - plan_.steps().data());
            answers_[index] = among(receivers_, one.peer, by);
            is_answer_[static_cast<std::size_t>(by)] = true;
        }
    }
}

/// Finds steps whose result no later step reads. The input counts for nothing here, though it may be the same memory: a mistake costs time
/// only.
void program::find_rest() {
    rests_.resize(plan_.steps().size());
    // How many steps use a block, of the round and of those after it.
    std::vector<int> here(static_cast<std::size_t>(plan_.spaces().output)), later = here;
    const auto count = [](std::vector<int>& users, std::span<const step> steps, int each) {
        const auto use = [&](const blocks& some) {
            for (int block = some.first; some.where == space::output && block < some.first + some.count; ++block)
                users[static_cast<std::size_t>(block)] += each;
        };
        for (const step& by : steps) {
            use(by.here);
            if (by.what == action::copy) use(by.from);
        }
    };
    for (int round = plan_.rounds() - 1; round >= 0; --round) {
        const auto steps = plan_.round(round);
        const auto first = static_cast<std::size_t>(first_step(round));
        count(here, steps, 1);
        for (std::size_t at = 0; at < steps.size(); ++at) {
            const step& one = steps[at];
            if (one.what == action::send || one.here.where != space::output) continue;
            int equals = 1, taken = sums_[first + at].step >= 0;  // steps into these blocks in this round; sends that take the sum away
            for (std::size_t other = 0; one.what == action::recv_reduce && other < steps.size(); ++other) {
                if (other == at || steps[other].what != action::recv_reduce || steps[other].here != one.here) continue;
                ++equals;
                taken += sums_[first + other].step >= 0;
            }
            bool rests = true;
            for (int each = one.here.first; each < one.here.first + one.here.count; ++each) {
                const auto block = static_cast<std::size_t>(each);
                rests = rests && here[block] == equals && later[block] == taken;
            }
            rests_[first + at] = rests;
        }
        count(here, steps, -1);
        count(later, steps, 1);
    }
}

int largest_transfer(const schedule& plan) noexcept {
    int largest = 0;
    for (const step& each : plan.steps())
        if (is_transfer(each)) largest = std::max(largest, each.here.count);
    return largest;
}

std::shared_ptr<const program> compile(const algorithm& algorithm, participant where, const program* other_root) {
    int largest = other_root ? other_root->largest_transfer() : 0;
    for (rank each = 0; each < where.size && !other_root; ++each)
        largest = std::max(largest, largest_transfer(algorithm.build({each, where.size, 0, where.hosts})));
    return std::make_shared<const program>(algorithm.build(where), largest);
}

}  // namespace tutti
