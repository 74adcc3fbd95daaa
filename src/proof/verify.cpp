#include "proof/verify.hpp"

#include "proof/execution.hpp"
#include "proof/grouping.hpp"
#include "proof/print.hpp"
#include "schedule/answers.hpp"

#include <algorithm>

namespace tutti {
namespace {

std::string place_of(rank who, int round) { return "rank " + std::to_string(who) + ", round " + std::to_string(round) + ": "; }

bool inside(const shape& spaces, const blocks& which) noexcept {
    const int limit = which.where == space::input ? spaces.input : which.where == space::output ? spaces.output : spaces.scratch;
    return which.first >= 0 && which.count >= 1 && which.first <= limit - which.count;
}

verdict check_step(const step& line, const shape& spaces, rank me, int size) {
    if (!inside(spaces, line.here) || (line.what == action::copy && !inside(spaces, line.from)))
        return {flaw::bad_step, to_string(line) + ": no such block"};
    if (is_transfer(line) && (line.peer < 0 || line.peer >= size || line.peer == me))
        return {flaw::bad_step, to_string(line) + ": no such peer"};
    if (line.what != action::send && line.here.where == space::input) return {flaw::input_written, to_string(line) + " writes to input"};
    if (line.what == action::copy && intersect(line.here, line.from)) return {flaw::race, to_string(line) + " overlaps itself"};
    return {};
}

// A recv lands during its round, so no other step may land there or send from there. Reductions and copies are applied at the round's end, in order.
verdict check_races(std::span<const step> round) {
    for (const step& landing : round) {
        if (landing.what != action::recv) continue;
        for (const step& other : round)
            if (&other != &landing && (other.what == action::send || other.what == action::recv) && intersect(landing.here, other.here))
                return {flaw::race, to_string(landing) + " and " + to_string(other) + " touch the same block at the same time"};
    }
    return {};
}

// The rank's own block may be one memory in input and output. Once a step may have written it in the output (`here`), no step may read it in the input
// (`there`). Sums are written while they arrive, and answers as soon as their send has been sent. A copy from there to here changes nothing as long
// as nothing has landed or been applied.
verdict check_own(const schedule& plan, rank me) {
    const shape& spaces = plan.spaces();
    if (spaces.input == 0 || spaces.output == 0) return {};
    const answers all(plan);
    const blocks here = output(spaces.output > 1 ? me : 0), there = input(spaces.input > 1 ? me : 0);
    const auto stays = [&](const step& line) { return line.what == action::copy && line.from == there && line.here == here; };
    const auto writes = [&](const step& line) {
        return intersect(line.here, here) && !stays(line) && (line.what != action::send || all.to(line));
    };
    const auto reads = [&](const step& line) { return intersect(line.what == action::copy ? line.from : line.here, there); };
    const step* written = nullptr;  // in the rounds before
    for (int round = 0; round < plan.rounds(); ++round) {
        const auto steps = plan.round(round);
        const auto first = [&](auto which) {
            const auto found = std::find_if(steps.begin(), steps.end(), which);
            return written ? written : found == steps.end() ? nullptr : &*found;
        };
        const step* const meanwhile = first(writes);
        const step* before =
            first([&](const step& line) { return writes(line) && line.what != action::recv_reduce && line.what != action::copy; });
        for (const step& line : steps) {
            const step* const spoilt = stays(line) ? before : meanwhile;
            if (spoilt && reads(line))
                return {flaw::race, place_of(me, round) + to_string(line) + " reads what " + to_string(*spoilt) + " may have written"};
            if (!before && writes(line)) before = &line;
        }
        written = meanwhile;
    }
    return {};
}

verdict check_plan(const schedule& plan, const contract& promise, rank me, int size) {
    const shape &spaces = plan.spaces(), &promised = promise.spaces;
    const bool sized = !promise.equal_blocks && !promise.ranks[static_cast<std::size_t>(me)].sizes.empty();
    if (sized && spaces.scratch > spaces.input)
        return {flaw::bad_step, "rank " + std::to_string(me) + ": the plan has " + std::to_string(spaces.scratch) +
                                    " scratch blocks, which have the sizes of " + std::to_string(spaces.input) + " input blocks"};
    if (spaces.input != promised.input || spaces.output != promised.output || spaces.scratch < 0)
        return {flaw::bad_step, "rank " + std::to_string(me) + ": the plan has " + std::to_string(spaces.input) + " input and " +
                                    std::to_string(spaces.output) + " output blocks, the collective " + std::to_string(promised.input) +
                                    " and " + std::to_string(promised.output)};
    for (int round = 0; round < plan.rounds(); ++round) {
        verdict found;
        for (const step& line : plan.round(round))
            if (found.correct()) found = check_step(line, spaces, me, size);
        if (found.correct()) found = check_races(plan.round(round));
        if (!found.correct()) return {found.what, place_of(me, round) + found.why};
    }
    return check_own(plan, me);
}

// Returns a number for a block's size: blocks with equal numbers have equal sizes.
int size_number(const contract& promise, rank who, const blocks& which, int index) noexcept {
    if (promise.equal_blocks) return 0;
    const std::vector<int>& sizes = promise.ranks[static_cast<std::size_t>(who)].sizes;
    const bool scratch = which.where == space::scratch;
    if (sizes.empty()) return scratch ? -1 : which.first + index;
    return sizes[static_cast<std::size_t>(position(promise.spaces, scratch ? space::input : which.where, which.first + index))];
}

bool same_size(const contract& promise, rank who, const blocks& one, rank whose, const blocks& other) noexcept {
    if (one.count != other.count) return false;
    for (int index = 0; index < one.count; ++index)
        if (size_number(promise, who, one, index) != size_number(promise, whose, other, index)) return false;
    return true;
}

verdict check_channel(const channel& pair, const contract& promise) {
    const std::size_t matched = std::min(pair.sends.size(), pair.recvs.size());
    for (std::size_t k = 0; k < matched; ++k) {
        const endpoint &source = pair.sends[k], &target = pair.recvs[k];
        if (!same_size(promise, source.who, source.line->here, target.who, target.line->here))
            return {flaw::size_mismatch, place_of(source.who, source.round) + to_string(*source.line) + " meets rank " +
                                             std::to_string(target.who) + "'s " + to_string(*target.line) + ", of another size"};
        if (k > 0 && (pair.sends[k - 1].round == source.round) != (pair.recvs[k - 1].round == target.round))
            return {flaw::split_round, place_of(source.who, source.round) + to_string(*source.line) +
                                           " shares its round with the transfer before on one side only"};
    }
    if (pair.sends.size() == pair.recvs.size()) return {};
    const bool sent = pair.sends.size() > matched;
    const endpoint& alone = sent ? pair.sends[matched] : pair.recvs[matched];
    return {flaw::orphan, place_of(alone.who, alone.round) + to_string(*alone.line) + (sent ? " is never received" : " is never sent")};
}

verdict check_plans(std::span<const schedule> plans, const contract& promise) {
    const int size = static_cast<int>(plans.size());
    for (rank me = 0; me < size; ++me)
        if (verdict found = check_plan(plans[static_cast<std::size_t>(me)], promise, me, size); !found.correct()) return found;
    return {};
}

verdict check_copies(std::span<const schedule> plans, const contract& promise) {
    for (rank me = 0; const schedule& plan : plans) {
        for (int round = 0; round < plan.rounds(); ++round)
            for (const step& line : plan.round(round))
                if (line.what == action::copy && !same_size(promise, me, line.here, me, line.from))
                    return {flaw::size_mismatch, place_of(me, round) + to_string(line) + ": of different sizes"};
        ++me;
    }
    return {};
}

// Returns whether `found` has exactly the contributions that `wanted` names.
bool fulfils(const expressions& formulas, expressions::id found, piece wanted, int size, bool repeats_allowed) {
    std::vector<piece> pieces = formulas.pieces(found);
    if (wanted.owner >= 0) return pieces.size() == 1 && pieces[0] == wanted;
    const auto by_owner = [](const piece& one, const piece& other) { return one.owner < other.owner; };
    std::sort(pieces.begin(), pieces.end(), by_owner);
    if (repeats_allowed) pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    if (static_cast<int>(pieces.size()) != (wanted.owner == every_rank ? size : first_ranks(wanted.owner))) return false;
    for (rank owner = 0; const piece& one : pieces)
        if (one != piece{owner++, wanted.index}) return false;
    return true;
}

bool in_rank_order(const std::vector<piece>& pieces) {
    return std::is_sorted(pieces.begin(), pieces.end(), [](const piece& one, const piece& other) { return one.owner < other.owner; });
}

std::string text(piece wanted) {
    const std::string part = "part " + std::to_string(wanted.index) + " of ";
    if (wanted.owner == every_rank) return part + "every rank";
    if (wanted.owner < 0) return part + "the first " + std::to_string(first_ranks(wanted.owner)) + " ranks";
    return part + "rank " + std::to_string(wanted.owner);
}

class result_check {
public:
    result_check(const contract& promise, expressions& formulas) : promise_(promise), formulas_(formulas) {}

    verdict check(const execution& world, int slice) {
        const int size = static_cast<int>(promise_.ranks.size());
        for (rank who = 0; who < size; ++who)
            for (const auto& [where, wanted] : promise_.ranks[static_cast<std::size_t>(who)].ends)
                if (verdict found = check(who, where, wanted, world.at(who, slice, where)); !found.correct()) return found;
        return {};
    }

private:
    verdict check(rank who, const blocks& where, piece wanted, expressions::id found) {
        const bool combined = wanted.owner == every_rank;
        const int size = static_cast<int>(promise_.ranks.size());
        if (combined && static_cast<std::size_t>(wanted.index) >= agreed_.size())
            agreed_.resize(static_cast<std::size_t>(wanted.index) + 1, expressions::nothing);
        expressions::id* agreed = combined ? &agreed_[static_cast<std::size_t>(wanted.index)] : nullptr;
        if (agreed && *agreed == found && found != expressions::nothing) return {};
        const std::string holds = "rank " + std::to_string(who) + " ends with " + to_string(where) + " = " + formulas_.text(found);
        if (!fulfils(formulas_, found, wanted, size, promise_.repeats_allowed))
            return {flaw::wrong_result, holds + ", expected " + text(wanted)};
        if (wanted.owner < 0 && promise_.grouped && found != grouped(formulas_, wanted, size))
            return {flaw::other_grouping, holds + ", and not as " + formulas_.text(grouped(formulas_, wanted, size))};
        if (wanted.owner < 0 && promise_.ordered && !in_rank_order(formulas_.pieces(found)))
            return {flaw::not_in_order, holds + ", which is not the order of ranks"};
        if (agreed && *agreed != expressions::nothing && !promise_.repeats_allowed)
            return {flaw::different_order, holds + ", another rank with " + formulas_.text(*agreed)};
        if (agreed) *agreed = found;
        return {};
    }

    const contract& promise_;
    expressions& formulas_;
    std::vector<expressions::id> agreed_;  // by index: the formula of the first rank that holds it
};

verdict verify_run(std::span<const schedule> plans, const contract& promise, const slicing& cut, std::mt19937* order) {
    if (plans.size() != promise.ranks.size()) return {flaw::bad_step, "not one plan per rank"};
    if (verdict found = check_plans(plans, promise); !found.correct()) return found;
    if (verdict found = check_copies(plans, promise); !found.correct()) return found;
    const matching pairs(plans);
    for (const channel& pair : pairs.channels())
        if (verdict found = check_channel(pair, promise); !found.correct()) return found;
    expressions formulas;
    execution world(plans, pairs, promise, formulas, cut);
    world.run(order);
    if (!world.unwritten().empty()) return {flaw::unwritten_read, world.unwritten()};
    if (std::string waits = world.stuck(); !waits.empty()) return {flaw::deadlock, std::move(waits)};
    result_check results(promise, formulas);
    for (int slice = 0; slice < cut.slices; ++slice)
        if (verdict found = results.check(world, slice); !found.correct()) return found;
    return {};
}

}  // namespace

std::string_view name(flaw what) noexcept {
    constexpr std::string_view names[] = {"none",        "bad step", "input written",  "race",         "orphan",          "size mismatch",
                                          "split round", "deadlock", "unwritten read", "wrong result", "different order", "not in order",
                                          "other grouping"};
    return names[static_cast<int>(what)];
}

verdict verify(std::span<const schedule> plans, const contract& promise) { return verify_run(plans, promise, {}, nullptr); }

verdict verify_sliced(std::span<const schedule> plans, const contract& promise, const slicing& cut, std::uint32_t seed) {
    std::mt19937 order(seed);
    return verify_run(plans, promise, cut, &order);
}

}  // namespace tutti
