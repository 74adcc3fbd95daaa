#include "proof/execution.hpp"

#include "proof/print.hpp"

#include <algorithm>

namespace tutti {
namespace {

std::size_t index_of(const schedule& plan, int round, const step& line) noexcept {
    return static_cast<std::size_t>(&line - plan.round(round).data());
}

constexpr std::size_t nothing_held = static_cast<std::size_t>(-1);

}  // namespace

execution::execution(std::span<const schedule> plans, const matching& pairs, const contract& promise, expressions& formulas, const slicing& cut)
    : plans_(plans),
      pairs_(pairs),
      formulas_(formulas),
      slices_(cut.slices),
      window_(cut.window > 0 ? cut.window : cut.slices),
      lanes_(cut.lanes),
      segment_(cut.segment > 0 ? cut.segment : cut.slices),
      lent_(cut.lent),
      states_(plans.size() * static_cast<std::size_t>(cut.slices)),
      heads_(pairs.channels().size()) {
    for (const channel& pair : pairs.channels()) queues_.push_back(in_order(pair));
    for (std::size_t where = 0; lanes_ > 1 && where < queues_.size(); ++where)
        roads_.push_back(
            {std::vector<std::size_t>(static_cast<std::size_t>(lanes_), nothing_held), std::vector<bool>(queues_[where].size())});
    for (rank who = 0; who < pairs.size(); ++who) {
        const shape& spaces = plans[static_cast<std::size_t>(who)].spaces();
        for (int slice = 0; slice < slices_; ++slice) {
            progress& mine = of(who, slice);
            mine.memory.assign(static_cast<std::size_t>(total(spaces)), expressions::nothing);
            for (const auto& [where, what] : promise.ranks[static_cast<std::size_t>(who)].begins)
                mine.memory[static_cast<std::size_t>(position(spaces, where.where, where.first))] = formulas_.of(what);
        }
    }
}

std::vector<execution::item> execution::in_order(const channel& pair) const {
    std::vector<item> queue;
    for (int begin = 0; begin < slices_; begin += segment_)
        for (std::size_t first = 0, end = 0; first < pair.sends.size(); first = end) {
            while (end < pair.sends.size() && pair.sends[end].round == pair.sends[first].round) ++end;
            for (int slice = begin; slice < std::min(begin + segment_, slices_); ++slice)
                for (std::size_t k = first; k < end; ++k) queue.push_back({pair.sends[k], pair.recvs[k], slice});
        }
    return queue;
}

void execution::run(std::mt19937* order) {
    for (rank who = 0; who < pairs_.size(); ++who)
        for (int slice = 0; slice < slices_; ++slice) begin_rounds(who, slice);
    while (!candidates_.empty()) {
        if (order) std::swap(candidates_.back(), candidates_[(*order)() % candidates_.size()]);
        const std::size_t where = candidates_.back();
        candidates_.pop_back();
        if (lanes_ > 1 ? share(where, *order) : pass(where)) candidates_.push_back(where);
    }
}

/// Carries out the channel's next transfer if both ends have come to it.
bool execution::pass(std::size_t where) {
    if (heads_[where] == queues_[where].size()) return false;
    const item next = queues_[where][heads_[where]];
    if (!may_leave(next) || !may_land(next) || (lent_ && !all_there(next))) return false;
    ++heads_[where];
    if (lent_) each_beside(next, [this](std::size_t other, const step&) { candidates_.push_back(other); });
    carry(next);
    end(next);
    return true;
}

/// Lets a random idle lane take the next transfer, or a random busy lane land its own.
bool execution::share(std::size_t where, std::mt19937& order) {
    const auto lanes = static_cast<std::size_t>(lanes_), first = order() % (lanes + 1);
    for (std::size_t tried = 0; tried <= lanes; ++tried) {
        const std::size_t which = (first + tried) % (lanes + 1);
        if (which == lanes ? give(where, order) : land(where, roads_[where].held[which])) return true;
    }
    return false;
}

bool execution::give(std::size_t where, std::mt19937& order) {
    road& over = roads_[where];
    if (over.given == queues_[where].size() || !may_leave(queues_[where][over.given])) return false;
    std::vector<std::size_t*> idle;
    for (std::size_t& each : over.held)
        if (each == nothing_held) idle.push_back(&each);
    if (idle.empty()) return false;
    *idle[order() % idle.size()] = over.given++;
    return true;
}

bool execution::land(std::size_t where, std::size_t& held) {
    road& over = roads_[where];
    if (held == nothing_held || !may_land(queues_[where][held])) return false;
    carry(queues_[where][held]);
    over.landed[held] = true;
    held = nothing_held;
    while (over.ended < over.landed.size() && over.landed[over.ended]) end(queues_[where][over.ended++]);
    return true;
}

// Starts the transfers of the slice's current round. Rounds without transfers end at once.
void execution::begin_rounds(rank who, int slice) {
    const schedule& plan = plans_[static_cast<std::size_t>(who)];
    progress& mine = of(who, slice);
    while (mine.round < plan.rounds()) {
        mine.arrived.clear();
        mine.bounces.clear();
        for (const step& line : plan.round(mine.round)) {
            mine.bounces.push_back(mine.arrived.size());
            if (line.what == action::recv_reduce) mine.arrived.resize(mine.arrived.size() + static_cast<std::size_t>(line.here.count));
            if (!is_transfer(line)) continue;
            ++mine.waiting;
            candidates_.push_back(line.what == action::send ? pairs_.index_of(who, line.peer) : pairs_.index_of(line.peer, who));
        }
        if (mine.waiting > 0) return;
        end_round(who, slice);
    }
}

bool execution::may_leave(const item& next) const noexcept {
    if (next.slice >= window_ && of(next.source.who, next.slice - window_).round <= next.source.round) return false;
    return of(next.source.who, next.slice).round == next.source.round;
}

bool execution::may_land(const item& next) const noexcept { return of(next.target.who, next.slice).round == next.target.round; }

/// Visits the other channels that bring parts to be reduced into the same blocks in the same round.
template <class Visit>
void execution::each_beside(const item& next, Visit visit) const {
    const step& mine = *next.target.line;
    if (mine.what != action::recv_reduce) return;
    for (const step& line : plans_[static_cast<std::size_t>(next.target.who)].round(next.target.round))
        if (line.what == action::recv_reduce && line.here == mine.here && line.peer != mine.peer)
            visit(pairs_.index_of(line.peer, next.target.who), line);
}

/// Returns whether all these parts have ended, or could leave now.
bool execution::all_there(const item& next) const {
    bool all = true;
    each_beside(next, [&](std::size_t where, const step& line) {
        const auto head = queues_[where].begin() + static_cast<std::ptrdiff_t>(heads_[where]);
        const auto found = std::find_if(head, queues_[where].end(),
                                        [&](const item& each) { return each.target.line == &line && each.slice == next.slice; });
        all = all && (found == queues_[where].end() || (found == head && may_leave(*found)));
    });
    return all;
}

void execution::carry(const item& next) {
    progress& from = of(next.source.who, next.slice);
    progress& to = of(next.target.who, next.slice);
    const schedule& plan = plans_[static_cast<std::size_t>(next.target.who)];
    const blocks& target = next.target.line->here;
    const std::size_t bounce = to.bounces[index_of(plan, next.target.round, *next.target.line)];
    for (int k = 0; k < target.count; ++k) {
        const expressions::id value = read(next.source.who, next.source.round, *next.source.line, from, next.source.line->here, k);
        if (next.target.line->what == action::recv)
            to.memory[static_cast<std::size_t>(position(plan.spaces(), target.where, target.first + k))] = value;
        else to.arrived[bounce + static_cast<std::size_t>(k)] = value;
    }
}

void execution::end(const item& next) {
    for (const endpoint* end : {&next.source, &next.target})
        if (--of(end->who, next.slice).waiting == 0) {
            for (const step& line : plans_[static_cast<std::size_t>(end->who)].round(end->round))
                if (line.what == action::send)
                    candidates_.push_back(pairs_.index_of(end->who, line.peer));  // a later slice may be in the window now
            end_round(end->who, next.slice);
            begin_rounds(end->who, next.slice);
        }
}

// Applies the reductions and copies of the round, in the order of its steps.
void execution::end_round(rank who, int slice) {
    const schedule& plan = plans_[static_cast<std::size_t>(who)];
    progress& mine = of(who, slice);
    for (std::size_t index = 0; const step& line : plan.round(mine.round)) {
        const std::size_t bounce = mine.bounces[index++];
        if (line.what != action::recv_reduce && line.what != action::copy) continue;
        for (int k = 0; k < line.here.count; ++k) {
            expressions::id& target = mine.memory[static_cast<std::size_t>(position(plan.spaces(), line.here.where, line.here.first + k))];
            if (line.what == action::copy) {
                target = read(who, mine.round, line, mine, line.from, k);
                continue;
            }
            const expressions::id theirs = mine.arrived[bounce + static_cast<std::size_t>(k)];
            const expressions::id ours = read(who, mine.round, line, mine, line.here, k);
            target = line.peer < who ? formulas_.combined(theirs, ours) : formulas_.combined(ours, theirs);
        }
    }
    ++mine.round;
}

expressions::id execution::read(rank who, int round, const step& line, const progress& state, const blocks& where, int index) {
    const shape& spaces = plans_[static_cast<std::size_t>(who)].spaces();
    const expressions::id value = state.memory[static_cast<std::size_t>(position(spaces, where.where, where.first + index))];
    if (value == expressions::nothing && unwritten_.empty())
        unwritten_ = "rank " + std::to_string(who) + ", round " + std::to_string(round) + ": " + to_string(line) + " reads " +
                     to_string(blocks{where.where, where.first + index, 1}) + " before anything is written to it";
    return value;
}

std::string execution::stuck() const {
    for (rank who = 0; who < pairs_.size(); ++who)
        for (int slice = 0; slice < slices_; ++slice) {
            const int round = of(who, slice).round;
            if (round == plans_[static_cast<std::size_t>(who)].rounds()) continue;
            std::string text = "rank " + std::to_string(who) + " waits for ever in round " + std::to_string(round);
            if (slices_ > 1) text += ", slice " + std::to_string(slice);
            for (const step& line : plans_[static_cast<std::size_t>(who)].round(round)) {
                if (!is_transfer(line)) continue;
                const progress& peer = of(line.peer, slice);
                if (peer.round == plans_[static_cast<std::size_t>(line.peer)].rounds()) continue;
                text += "; " + to_string(line) + ", which stands at round " + std::to_string(peer.round);
            }
            return text;
        }
    return {};
}

expressions::id execution::at(rank who, int slice, const blocks& where) const noexcept {
    const shape& spaces = plans_[static_cast<std::size_t>(who)].spaces();
    return of(who, slice).memory[static_cast<std::size_t>(position(spaces, where.where, where.first))];
}

}  // namespace tutti
