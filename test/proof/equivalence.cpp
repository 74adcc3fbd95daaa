#include "equivalence.hpp"

#include <algorithm>
#include <map>

namespace tutti {
namespace {

bool overlap(const blocks& one, const blocks& other) {
    return one.where == other.where && one.first < other.first + other.count && other.first < one.first + one.count;
}
bool writes(const step& line, const blocks& which) { return line.what != action::send && overlap(line.here, which); }
bool uses(const step& line, const blocks& which) {
    return overlap(line.here, which) || (line.what == action::copy && overlap(line.from, which));
}
bool at_end(const step& line) { return line.what == action::copy || line.what == action::recv_reduce; }
bool one_channel(const step& one, const step& other) {
    return one.what != action::copy && other.what != action::copy && one.peer == other.peer &&
           (one.what == action::send) == (other.what == action::send);
}

// Returns whether all ranks but one end with a copy of another rank's block.
bool finished_at_one_rank(const world& all, const blocks& result) {
    int finishers = 0;
    for (const rounds& mine : all) {
        const step* last = nullptr;
        for (const auto& round : mine)
            for (const step& line : round)
                if (writes(line, result)) last = &line;
        finishers += last == nullptr || last->what != action::recv;
    }
    return finishers == 1;
}

// Whether nothing of a block has left its rank up to a round: what was added to it by then forms one sum, there alone, which all others get
// as a whole.
bool formed_alone(const rounds& mine, std::size_t until, const blocks& which) {
    for (std::size_t round = 0; round <= until; ++round)
        for (const step& line : mine[round])
            if (line.what == action::send && overlap(line.here, which)) return false;
    return true;
}

// Whether a rank of a broadcast had a block before a round.
bool had_before(const world& healthy, const damaged_place& where, const blocks& which) {
    if (where.kind != collective::broadcast) return false;
    if (static_cast<rank>(where.who) == where.root) return true;
    for (std::size_t round = 0; round < where.round; ++round)
        for (const step& line : healthy[where.who][round])
            if (line.what == action::recv && line.here.where == which.where && line.here.first <= which.first &&
                line.here.first + line.here.count >= which.first + which.count)
                return true;
    return false;
}

// Whether something lands where another step of the round reads or writes.
bool lands_on_others(const std::vector<step>& round) {
    for (const step& line : round)
        for (const step& other : round)
            if (&line != &other && line.what == action::recv && uses(other, line.here)) return true;
    return false;
}

// Collectives in which no two ranks hold the same result, whose bits would have to be the same.
bool one_holder(collective kind) {
    using enum collective;
    return kind == reduce || kind == reduce_scatter || kind == reduce_scatter_v || kind == scan || kind == exclusive_scan;
}

// Which rank waits for which: rank r's round k ends after it began and after its peers began to send; with rendezvous also to receive.
class waiting {
public:
    waiting(const world& all, bool rendezvous) {
        std::size_t next = 0;
        for (const rounds& mine : all) {
            first_.push_back(next);
            next += mine.size() + 1;  // node k: round k begins, that is, k-1 has ended; the last: all have ended
        }
        after_.resize(next);
        for (std::size_t who = 0; who < all.size(); ++who)
            for (std::size_t round = 0; round < all[who].size(); ++round) after_[first_[who] + round].push_back(first_[who] + round + 1);
        std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> sends, recvs;
        for (std::size_t who = 0; who < all.size(); ++who)
            for (std::size_t round = 0; round < all[who].size(); ++round)
                for (const step& line : all[who][round]) {
                    const auto peer = static_cast<std::size_t>(line.peer);
                    if (line.what == action::send) sends[{who, peer}].push_back(first_[who] + round);
                    else if (line.what != action::copy) recvs[{peer, who}].push_back(first_[who] + round);
                }
        for (const auto& [pair, from] : sends)
            for (std::size_t k = 0; k < from.size(); ++k) {
                const std::size_t to = recvs[pair].at(k);
                after_[from[k]].push_back(to + 1);
                if (rendezvous) after_[to].push_back(from[k] + 1);
            }
    }

    bool circle() const {
        std::vector<int> before(after_.size());
        for (const auto& nexts : after_)
            for (const std::size_t next : nexts) ++before[next];
        std::vector<std::size_t> open;
        for (std::size_t node = 0; node < after_.size(); ++node)
            if (before[node] == 0) open.push_back(node);
        std::size_t seen = 0;
        for (; !open.empty(); ++seen) {
            const std::size_t node = open.back();
            open.pop_back();
            for (const std::size_t next : after_[node])
                if (--before[next] == 0) open.push_back(next);
        }
        return seen != after_.size();
    }

    // Returns whether no rank ends before `who` begins.
    bool holds_all_back(std::size_t who) const {
        std::vector<bool> reached(after_.size());
        std::vector<std::size_t> open{first_[who]};
        while (!open.empty()) {
            const std::size_t node = open.back();
            open.pop_back();
            if (reached[node]) continue;
            reached[node] = true;
            open.insert(open.end(), after_[node].begin(), after_[node].end());
        }
        for (std::size_t other = 0; other < first_.size(); ++other)
            if (!reached[(other + 1 < first_.size() ? first_[other + 1] : after_.size()) - 1]) return false;
        return true;
    }

private:
    std::vector<std::size_t> first_;
    std::vector<std::vector<std::size_t>> after_;
};

}  // namespace

bool same_copy_again(const world& healthy, const damaged_place& where) {
    const auto& round = healthy[where.who][where.round];
    const step& line = round[where.index];
    if (line.what != action::copy) return false;
    return std::none_of(round.begin() + static_cast<std::ptrdiff_t>(where.index) + 1, round.end(),
                        [&](const step& later) { return writes(later, line.here) || writes(later, line.from); });
}

bool independent_rounds(const world& healthy, const world& damaged, const damaged_place& where, bool swapped) {
    for (const step& one : healthy[where.who][where.round])
        for (const step& other : healthy[where.who][where.round + 1]) {
            if (one_channel(one, other)) return false;
            if (one.what == action::recv_reduce && other.what == action::recv_reduce && one.here == other.here) {
                if (!swapped || one_holder(where.kind) || finished_at_one_rank(healthy, one.here) ||
                    formed_alone(healthy[where.who], where.round + 1, one.here))
                    continue;
                return false;
            }
            // When the rounds are merged, copies and additions at the end of the same round keep their order, and come after the sends.
            if (!swapped && (one.what == action::send || at_end(one)) && at_end(other)) continue;
            // One after the other, what lands and was there already changes nothing.
            const auto again = [&](const step& line) {
                return swapped && line.what == action::recv && had_before(healthy, where, line.here);
            };
            if (again(one) || again(other)) continue;
            if (one.what != action::send && uses(other, one.here)) return false;
            if (other.what != action::send && uses(one, other.here)) return false;
        }
    return !waiting(damaged, true).circle();
}

bool still_a_barrier(const world& damaged, const damaged_place& where) {
    if (where.kind != collective::barrier || lands_on_others(damaged[where.who][where.round])) return false;
    const waiting graph(damaged, false);  // a send may end early
    for (std::size_t who = 0; who < damaged.size(); ++who)
        if (!graph.holds_all_back(who)) return false;
    return !waiting(damaged, true).circle();
}

bool only_heard_more(const world& healthy, const damaged_place& where) {
    return where.kind == collective::barrier && healthy[where.who][where.round][where.index].what == action::recv;
}

bool had_it_already(const world& healthy, const damaged_place& recv_place) {
    return had_before(healthy, recv_place, healthy[recv_place.who][recv_place.round][recv_place.index].here);
}

}  // namespace tutti
