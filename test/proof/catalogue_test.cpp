// Every plan there is, for every size, run symbolically.
#include "algorithm/catalogue.hpp"

#include "proof/expected.hpp"
#include "proof/matching.hpp"
#include "schedule/answers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace tutti;

namespace {

template <class Check>
void for_every_plan(int largest, Check check) {
    for (const algorithm& entry : catalogue())
        for (int size = 1; size <= largest; ++size)
            for (const host_map& hosts : host_maps(entry, size))
                for (const rank root : roots(entry.kind, size)) {
                    const verdict found = check(entry, size, root, hosts);
                    INFO(name(entry.kind), " ", entry.name, ", ", size, " ranks, ", hosts.count(), " hosts, root ", root, ": ",
                         name(found.what), ": ", found.why);
                    CHECK(found.correct());
                }
}

}  // namespace

TEST_CASE("every entry can be found by its name, and its number is its place") {
    std::set<std::string> seen;
    for (const algorithm& entry : catalogue()) {
        CAPTURE(entry.name);
        CHECK(find(entry.kind, entry.name) == &entry);
        CHECK(&catalogue()[static_cast<std::size_t>(number(entry))] == &entry);
        CHECK(seen.insert(std::string(name(entry.kind)) + "/" + std::string(entry.name)).second);
    }
    CHECK(find(collective::barrier, "ring") == nullptr);
    CHECK(find(collective::all_reduce, "") == nullptr);
    CHECK(catalogue().size() < 256);  // the number travels in one byte
}

TEST_CASE("every collective of the catalogue is served at every size") {
    for (int number = 0; number < collective_count; ++number) {
        const auto kind = static_cast<collective>(number);
        CAPTURE(name(kind));
        for (int size = 1; size <= 33; ++size) {
            bool served = false;
            for (const algorithm& entry : catalogue()) served |= entry.kind == kind && serves(entry, size);
            CHECK(served);
        }
    }
}

TEST_CASE("no plan copies near-equal blocks, which may be cut into slices of different lengths, to scratch") {
    for_every_plan(17, [](const algorithm& entry, int size, rank root, const host_map& hosts) {
        const bool near_equal = !spreads(entry.kind) && !collects(entry.kind);
        for (rank me = 0; near_equal && me < size; ++me)
            if (const shape spaces = entry.build({me, size, root, &hosts}).spaces(); spaces.scratch > 0 && spaces.output > 1)
                return verdict{flaw::size_mismatch, "it does"};
        return verdict{};
    });
}

TEST_CASE("what wants hosts is checked on even and uneven ones, and serves no group that has no layers") {
    const std::vector<int> alone{0, 1, 2, 3}, together{5, 5, 5, 5};
    for (const algorithm& entry : catalogue()) {
        CAPTURE(name(entry.kind));
        CAPTURE(entry.name);
        if (!entry.fits) {
            CHECK(host_maps(entry, 4).size() == (serves(entry, 4) ? 1 : 0));
            continue;
        }
        CHECK_FALSE(serves(entry, 4));
        CHECK_FALSE(serves(entry, 4, host_map(alone)));
        CHECK_FALSE(serves(entry, 4, host_map(together)));
        CHECK(host_maps(entry, 1).empty());
        CHECK(host_maps(entry, 2).empty());
        const bool uneven_too = host_maps(entry, 3).size() > 1;
        for (const int size : {8, 12, 24}) {
            bool even = false, uneven = false;
            for (const host_map& hosts : host_maps(entry, size)) (hosts.even() ? even : uneven) = true;
            CHECK(even);
            CHECK(uneven == uneven_too);
        }
    }
}

TEST_CASE("every plan in the catalogue is correct for every size and root") {
    for_every_plan(33, [](const algorithm& entry, int size, rank root, const host_map& hosts) { return verify(entry, size, root, hosts); });
}

TEST_CASE("every plan in the catalogue is correct in slices, whatever the order of events, over one lane or several") {
    const slicing cuts[] = {
        {.slices = 2},
        {.slices = 3},
        {.slices = 3, .window = 1},
        {.slices = 2, .window = 1, .segment = 1},
        {.slices = 3, .window = 1, .segment = 2},
        {.slices = 5, .segment = 2},
        {.slices = 1, .lent = true},
        {.slices = 2, .lent = true},
        {.slices = 3, .window = 1, .segment = 1, .lent = true},
        {.slices = 4, .lanes = 2},
        {.slices = 4, .lanes = 3},
        {.slices = 4, .window = 1, .lanes = 3},
        {.slices = 5, .segment = 2, .lanes = 3},
    };
    for (const slicing& cut : cuts)
        for (std::uint32_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(cut.slices);
            CAPTURE(cut.window);
            CAPTURE(cut.segment);
            CAPTURE(cut.lanes);
            CAPTURE(cut.lent);
            CAPTURE(seed);
            for_every_plan(10, [&](const algorithm& entry, int size, rank root, const host_map& hosts) {
                return verify_sliced(entry, size, root, hosts, cut, seed);
            });
        }
}

std::set<rank> peers_of(const schedule& plan) {
    std::set<rank> found;
    for (const step& each : plan.steps())
        if (each.what != action::copy) found.insert(each.peer);
    return found;
}

/// Of each send that is answered: whether the peer sends the answer in a later round than it takes what was sent, so never before.
void check_answers(const std::vector<schedule>& plans) {
    const matching pairs(plans);
    for (rank me = 0; me < pairs.size(); ++me) {
        const answers all(plans[static_cast<std::size_t>(me)]);
        for (const rank peer : peers_of(plans[static_cast<std::size_t>(me)])) {
            const channel &there = pairs.between(me, peer), &back = pairs.between(peer, me);
            for (std::size_t sent = 0; sent < there.sends.size(); ++sent) {
                const endpoint& mine = there.sends[sent];
                const step* const answer = all.to(*mine.line);
                if (answer == nullptr) continue;
                const auto is_it = [answer](const endpoint& each) { return each.line == answer; };
                const auto comes = std::find_if(back.recvs.begin(), back.recvs.end(), is_it) - back.recvs.begin();
                CHECK(there.recvs[sent].round < back.sends[static_cast<std::size_t>(comes)].round);
            }
        }
    }
}

TEST_CASE("nobody answers a send before it has taken what was sent: links count on it") {
    for (const algorithm& entry : catalogue())
        for (int size = 2; size <= 33; ++size)
            for (const host_map& hosts : host_maps(entry, size))
                for (const rank root : roots(entry.kind, size)) {
                    INFO(name(entry.kind), " ", entry.name, ", ", size, " ranks, ", hosts.count(), " hosts, root ", root);
                    std::vector<schedule> plans;
                    for (rank me = 0; me < size; ++me) plans.push_back(entry.build({me, size, root, &hosts}));
                    check_answers(plans);
                }
}

using proof = verdict (*)(const algorithm& entry, int size, rank root, const host_map& hosts);

using promise = bool (*)(const algorithm& entry, int size);

bool ordered(const algorithm& entry, int /*size*/) { return entry.ordered; }

/// Returns whether the proof holds at every size and root. Where the algorithm does not promise that it may fail, in no other way than by `allowed`.
bool always_holds(proof holds, const algorithm& entry, promise promised, flaw allowed) {
    bool always = true;
    for (int size = 1; size <= 33; ++size)
        for (const host_map& hosts : host_maps(entry, size))
            for (const rank root : roots(entry.kind, size)) {
                const verdict found = holds(entry, size, root, hosts);
                INFO(size, " ranks, ", hosts.count(), " hosts, root ", root, ": ", name(found.what), ": ", found.why);
                CHECK((found.correct() || (!promised(entry, size) && found.what == allowed)));
                always &= found.correct();
            }
    return always;
}

TEST_CASE("the algorithms marked as ordered combine in the order of ranks at every size and root, the others do not") {
    for (const algorithm& entry : catalogue()) {
        CAPTURE(name(entry.kind));
        CAPTURE(entry.name);
        CHECK(entry.ordered == (reduces(entry.kind) && always_holds(verify_ordered, entry, ordered, flaw::not_in_order)));
    }
}

TEST_CASE("the algorithms marked as grouped combine in the one order and grouping at every size and root, the others do not") {
    for (const algorithm& entry : catalogue()) {
        CAPTURE(name(entry.kind));
        CAPTURE(entry.name);
        CHECK(entry.grouped == (reduces(entry.kind) && always_holds(verify_grouped, entry, deterministic, flaw::other_grouping)));
        CHECK((entry.ordered || !entry.grouped));
    }
}

TEST_CASE("with one rank a plan is empty, or one copy where input becomes output and nothing is reduced") {
    for (const algorithm& entry : catalogue()) {
        if (!serves(entry, 1)) continue;
        CAPTURE(entry.name);
        const schedule plan = entry.build({0, 1, 0});
        const bool copies = plan.spaces().input > 0 && !reduces(entry.kind);  // a part to be reduced stands there
        CHECK(plan.rounds() == (copies ? 1 : 0));
        if (copies) CHECK(plan.steps().size() == 1);
        if (copies) CHECK(plan.steps()[0] == copy(output(0), input(0)));
    }
}
