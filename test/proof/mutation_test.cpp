// Does the verifier notice? Every plan of the catalogue is damaged in every place in several ways; a damaged world that is still
// called correct must be one of those that provably are.
#include "equivalence.hpp"
#include "proof/expected.hpp"
#include "proof/print.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace tutti;

namespace {

rounds unpack(const schedule& plan) {
    rounds all;
    for (int round = 0; round < plan.rounds(); ++round) all.emplace_back(plan.round(round).begin(), plan.round(round).end());
    return all;
}

schedule pack(const rounds& all, const shape& spaces) {
    schedule plan(spaces);
    for (const auto& round : all) {
        for (const step& line : round) plan.add(line);
        plan.end_round();
    }
    return plan;
}

// One way to damage one step of one rank. False: does not apply here.
struct damage {
    std::string_view name;
    bool (*apply)(rounds& mine, std::size_t round, std::size_t index, int size, const shape& spaces);
    bool (*harmless)(const world& healthy, const world& damaged, const damaged_place& where);  // null: never
};

int limit(const shape& spaces, space where) {
    return where == space::input ? spaces.input : where == space::output ? spaces.output : spaces.scratch;
}

bool shift(blocks& which, const shape& spaces) {
    const int room = limit(spaces, which.where) - which.count + 1;
    if (room < 2) return false;
    which.first = (which.first + 1) % room;
    return true;
}

bool drop(rounds& mine, std::size_t round, std::size_t index, int, const shape&) {
    mine[round].erase(mine[round].begin() + static_cast<std::ptrdiff_t>(index));
    return true;
}
bool change_peer(rounds& mine, std::size_t round, std::size_t index, int size, const shape&) {
    step& line = mine[round][index];
    if (line.what == action::copy) return false;
    line.peer = (line.peer + 1) % size;
    return true;
}
bool change_block(rounds& mine, std::size_t round, std::size_t index, int, const shape& spaces) {
    return shift(mine[round][index].here, spaces);
}
bool change_source(rounds& mine, std::size_t round, std::size_t index, int, const shape& spaces) {
    return mine[round][index].what == action::copy && shift(mine[round][index].from, spaces);
}
bool shorten(rounds& mine, std::size_t round, std::size_t index, int, const shape&) {
    step& line = mine[round][index];
    if (line.here.count < 2) return false;
    --line.here.count, --line.from.count;
    return true;
}
bool swap_rounds(rounds& mine, std::size_t round, std::size_t index, int, const shape&) {
    if (index != 0 || round + 1 == mine.size()) return false;
    std::swap(mine[round], mine[round + 1]);
    return true;
}
bool merge_rounds(rounds& mine, std::size_t round, std::size_t index, int, const shape&) {
    if (index != 0 || round + 1 == mine.size()) return false;
    mine[round].insert(mine[round].end(), mine[round + 1].begin(), mine[round + 1].end());
    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(round) + 1);
    return true;
}
bool reduce_or_not(rounds& mine, std::size_t round, std::size_t index, int, const shape&) {
    step& line = mine[round][index];
    if (line.what != action::recv && line.what != action::recv_reduce) return false;
    line.what = line.what == action::recv ? action::recv_reduce : action::recv;
    return true;
}
bool turn_around(rounds& mine, std::size_t round, std::size_t index, int, const shape&) {
    step& line = mine[round][index];
    if (line.what == action::copy) std::swap(line.here, line.from);
    else line.what = line.what == action::send ? action::recv : action::send;
    return true;
}
bool duplicate(rounds& mine, std::size_t round, std::size_t index, int, const shape&) {
    mine[round].push_back(step(mine[round][index]));
    return true;
}

bool swap_proof(const world& healthy, const world& damaged, const damaged_place& where) {
    return independent_rounds(healthy, damaged, where, true) || still_a_barrier(damaged, where);
}
bool merge_proof(const world& healthy, const world& damaged, const damaged_place& where) {
    return independent_rounds(healthy, damaged, where, false) || still_a_barrier(damaged, where);
}
bool copy_proof(const world& healthy, const world&, const damaged_place& where) { return same_copy_again(healthy, where); }
bool more_proof(const world& healthy, const world&, const damaged_place& where) { return only_heard_more(healthy, where); }

constexpr damage damages[] = {{"drop", drop, nullptr},
                              {"change peer", change_peer, nullptr},
                              {"change block", change_block, nullptr},
                              {"change source", change_source, nullptr},
                              {"shorten", shorten, nullptr},
                              {"swap rounds", swap_rounds, swap_proof},
                              {"merge rounds", merge_rounds, merge_proof},
                              {"recv or recv_reduce", reduce_or_not, more_proof},
                              {"turn around", turn_around, nullptr},
                              {"duplicate", duplicate, copy_proof}};

struct tally {
    int killed = 0;
    int harmless = 0;
    std::set<flaw> seen;
};

class patient {
public:
    patient(const algorithm& entry, int size, rank root, const host_map& hosts, tally& result)
        : entry_(entry),
          size_(size),
          root_(root),
          plans_(build_all(entry, size, root, hosts)),
          promise_(expected(entry.kind, size, root, plans_[0].spaces().output)),
          result_(result) {
        for (const schedule& plan : plans_) healthy_.push_back(unpack(plan));
    }

    void damage_steps() {
        each_step([&](const damaged_place& where) {
            for (const damage& way : damages) {
                world damaged = healthy_;
                if (!way.apply(damaged[where.who], where.round, where.index, size_, plans_[where.who].spaces())) continue;
                judge(damaged, where, way.name, [&] { return way.harmless && way.harmless(healthy_, damaged, where); });
            }
        });
    }

    // Both ends of a transfer, so that it still matches: the hard case.
    void damage_transfers() {
        each_step([&](const damaged_place& where) {
            const step& line = healthy_[where.who][where.round][where.index];
            if (line.what != action::recv && line.what != action::recv_reduce) return;
            const damaged_place source = sender_of(where);
            world dropped = healthy_;
            drop(dropped[where.who], where.round, where.index, size_, {});
            drop(dropped[source.who], source.round, source.index, size_, {});
            judge(dropped, where, "drop transfer", [&] { return had_it_already(healthy_, where); });
            world moved = healthy_;
            if (shift(moved[where.who][where.round][where.index].here, plans_[where.who].spaces()) &&
                shift(moved[source.who][source.round][source.index].here, plans_[source.who].spaces()))
                judge(moved, where, "move transfer", [&] { return false; });
        });
    }

private:
    template <class Visit>
    void each_step(Visit visit) {
        for (std::size_t who = 0; who < healthy_.size(); ++who)
            for (std::size_t round = 0; round < healthy_[who].size(); ++round)
                for (std::size_t index = 0; index < healthy_[who][round].size(); ++index) visit({entry_.kind, root_, who, round, index});
    }

    // The k-th recv from a peer belongs to the k-th send of that peer.
    damaged_place sender_of(const damaged_place& target) const {
        const rank peer = healthy_[target.who][target.round][target.index].peer;
        int before = 0;
        for (std::size_t round = 0; round <= target.round; ++round)
            for (std::size_t index = 0; index < healthy_[target.who][round].size(); ++index) {
                const step& line = healthy_[target.who][round][index];
                if (round == target.round && index == target.index) break;
                before += line.peer == peer && (line.what == action::recv || line.what == action::recv_reduce);
            }
        const auto who = static_cast<std::size_t>(peer);
        for (std::size_t round = 0; round < healthy_[who].size(); ++round)
            for (std::size_t index = 0; index < healthy_[who][round].size(); ++index) {
                const step& line = healthy_[who][round][index];
                if (line.what == action::send && line.peer == static_cast<rank>(target.who) && before-- == 0)
                    return {target.kind, target.root, who, round, index};
            }
        FAIL("a recv without send");
        return target;
    }

    // Both ways: what is found must not be provably harmless, or the proofs prove nothing.
    template <class Proof>
    void judge(const world& damaged, const damaged_place& where, std::string_view how, Proof harmless) {
        std::vector<schedule> plans;
        for (std::size_t who = 0; who < damaged.size(); ++who) plans.push_back(pack(damaged[who], plans_[who].spaces()));
        const verdict found = verify(plans, promise_);
        result_.seen.insert(found.what);
        ++(found.correct() ? result_.harmless : result_.killed);
        INFO(name(entry_.kind), " ", entry_.name, ", ", size_, " ranks, root ", root_, ", rank ", where.who, ", round ", where.round, ": ",
             how, ": ", to_string(healthy_[where.who][where.round][where.index]), ": ", name(found.what), " ", found.why);
        CHECK(harmless() == found.correct());
    }

    const algorithm& entry_;
    int size_;
    rank root_;
    std::vector<schedule> plans_;
    contract promise_;
    tally& result_;
    world healthy_;
};

}  // namespace

TEST_CASE("the verifier notices every damage that is not provably harmless") {
    tally result;
    for (const algorithm& entry : catalogue())
        for (const int size : {2, 3, 4, 5, 7, 8})
            for (const host_map& hosts : host_maps(entry, size)) {
                patient subject(entry, size, has_root(entry.kind) ? size - 1 : 0, hosts, result);
                subject.damage_steps();
                subject.damage_transfers();
            }
    MESSAGE(result.killed, " of ", result.killed + result.harmless, " damaged worlds found, the other ", result.harmless,
            " proven harmless");
    CHECK(result.killed > 20000);
    for (const flaw what : {flaw::bad_step, flaw::input_written, flaw::race, flaw::orphan, flaw::size_mismatch, flaw::split_round,
                            flaw::deadlock, flaw::unwritten_read, flaw::wrong_result, flaw::different_order}) {
        CAPTURE(name(what));
        CHECK(result.seen.contains(what));
    }
}
