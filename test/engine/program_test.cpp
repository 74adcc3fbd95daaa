#include "engine/program.hpp"

#include "proof/expected.hpp"
#include "schedule/answers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace tutti;

namespace {

bool sends(action what) { return what == action::send; }
bool receives(action what) { return what == action::recv || what == action::recv_reduce; }

/// Every step of the wanted kinds stands once in the channel of its peer, by round and then as in the plan.
void check_channels(const program& made, const std::vector<program::channel>& channels, bool (*wanted)(action)) {
    const auto steps = made.plan().steps();
    std::map<rank, std::vector<int>> expected, found;
    for (std::size_t index = 0; index < steps.size(); ++index)
        if (wanted(steps[index].what)) expected[steps[index].peer].push_back(static_cast<int>(index));
    for (const program::channel& each : channels) {
        CHECK_MESSAGE(!found.contains(each.peer), "a peer has one channel");
        int last_round = -1;
        for (const program::group& group : each.groups) {
            CHECK(group.round > last_round);
            last_round = group.round;
            CHECK(group.count > 0);
            for (int inside = 0; inside < group.count; ++inside) {
                const int step = made.step_order()[static_cast<std::size_t>(group.first + inside)];
                CHECK(step >= made.first_step(group.round));
                CHECK(step < made.first_step(group.round + 1));
                found[each.peer].push_back(step);
            }
        }
    }
    CHECK(found == expected);
}

template <class Check>
void for_every_plan(Check check) {
    for (const algorithm& entry : catalogue())
        for (const int size : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33})
            for (const host_map& hosts : host_maps(entry, size))
                for (rank me = 0; me < size; ++me) {
                    CAPTURE(name(entry.kind));
                    CAPTURE(entry.name);
                    CAPTURE(size);
                    CAPTURE(hosts.count());
                    CAPTURE(me);
                    check(entry, participant{me, size, 0, &hosts});
                }
}

}  // namespace

TEST_CASE("a program sorts every plan of the catalogue by peer, and loses no step") {
    for_every_plan([](const algorithm& entry, participant at) {
        at.root = at.size / 2;
        const auto made = compile(entry, at);
        CHECK(made->plan() == entry.build(at));
        CHECK(made->first_step(made->plan().rounds()) == static_cast<int>(made->plan().steps().size()));
        check_channels(*made, made->senders(), sends);
        check_channels(*made, made->receivers(), receives);
    });
}

TEST_CASE("all ranks of a program know the same longest transfer, whatever its root, and no transfer is longer") {
    for_every_plan([](const algorithm& entry, participant at) {
        const int largest = compile(entry, {0, at.size, 0, at.hosts})->largest_transfer();
        CHECK(largest >= 1);
        const auto made = compile(entry, {at.me, at.size, at.size - 1, at.hosts});
        CHECK(made->largest_transfer() == largest);
        CHECK(largest_transfer(made->plan()) <= largest);
    });
}

TEST_CASE("no plan reduces more transfers of one peer in a round than a port has places for") {
    for_every_plan([](const algorithm& entry, participant at) {
        const auto made = compile(entry, at);
        for (const program::channel& each : made->receivers())
            for (const program::group& group : each.groups) {
                const auto reduces = [&](int index) {
                    return made->plan().steps()[static_cast<std::size_t>(made->step_order()[static_cast<std::size_t>(index)])].what == action::recv_reduce;
                };
                int reductions = 0;
                for (int index = group.first; index < group.first + group.count; ++index) reductions += reduces(index) ? 1 : 0;
                CHECK(reductions <= 2);
            }
    });
}

TEST_CASE("the longest transfer counts blocks, and copies are none") {
    schedule plan({.output = 8});
    CHECK(largest_transfer(plan) == 0);
    plan.round(copy(output(0, 4), output(4, 4)));
    CHECK(largest_transfer(plan) == 0);
    plan.round(send(1, output(0, 3)), recv(1, output(4, 2)));
    CHECK(largest_transfer(plan) == 3);
    CHECK(program(plan, 3).largest_transfer() == 3);
}

TEST_CASE("transfers with one peer stay together in a round, and rounds without it are left out") {
    schedule plan({.output = 4});
    plan.round(send(1, output(0)), send(2, output(1)), send(1, output(2)));
    plan.round(recv(2, output(3)));
    plan.round(send(1, output(3)));
    const program made(plan, 1);
    REQUIRE(made.senders().size() == 2);
    const program::channel& first = made.senders()[0];
    CHECK(first.peer == 1);
    REQUIRE(first.groups.size() == 2);
    CHECK(first.groups[0].count == 2);
    CHECK(first.groups[1].round == 2);
    CHECK(made.step_order()[static_cast<std::size_t>(first.groups[0].first)] == 0);
    CHECK(made.step_order()[static_cast<std::size_t>(first.groups[0].first) + 1] == 2);
    CHECK(made.receivers().size() == 1);
    CHECK(made.receivers()[0].peer == 2);
    CHECK(made.writes_output());
}

TEST_CASE("a program that only sends does not write to the output") {
    schedule sending({.input = 1}), receiving({.output = 1});
    sending.round(send(1, input(0)));
    receiving.round(recv(1, output(0)));
    CHECK_FALSE(program(std::move(sending), 1).writes_output());
    CHECK(program(std::move(receiving), 1).writes_output());
}

namespace {

/// The frames of a peer in the order in which they come, as steps: segment by segment, in it round by round, slice by slice.
std::vector<std::pair<int, std::size_t>> frames_of(const program& made, const program::channel& way, std::size_t slices,
                                                   std::size_t segment) {
    std::vector<std::pair<int, std::size_t>> all;
    for (std::size_t first = 0; first < slices; first += segment)
        for (const program::group& group : way.groups)
            for (std::size_t slice = first; slice < std::min(slices, first + segment); ++slice)
                for (int inside = 0; inside < group.count; ++inside)
                    all.emplace_back(made.step_order()[static_cast<std::size_t>(group.first + inside)], slice);
    return all;
}

/// Steps of rank 0 in an all_reduce.
template <class Predicate>
int count_steps(const char* algorithm, int size, Predicate predicate) {
    const auto made = compile(*find(collective::all_reduce, algorithm), {0, size});
    int found = 0;
    for (int step = 0; step < static_cast<int>(made->plan().steps().size()); ++step) found += predicate(*made, step) ? 1 : 0;
    return found;
}

}  // namespace

TEST_CASE("an answer comes from the rank that was sent to, into the same blocks, which nobody touches meanwhile") {
    int found = 0;
    for_every_plan([&](const algorithm& entry, participant at) {
        const auto made = compile(entry, at);
        const auto steps = made->plan().steps();
        for (std::size_t sent = 0; sent < steps.size(); ++sent) {
            const program::answer* const by = steps[sent].what == action::send ? made->answer_to(static_cast<int>(sent)) : nullptr;
            if (!by) continue;
            ++found;
            const step& answer = steps[static_cast<std::size_t>(by->step)];
            CHECK(made->answers(by->step));
            CHECK(static_cast<std::size_t>(by->step) > sent);
            CHECK(answer == recv(steps[sent].peer, steps[sent].here));
            for (int between = static_cast<int>(sent) + 1; between < by->step; ++between) {
                const step& other = steps[static_cast<std::size_t>(between)];
                for (const blocks& touched : {other.here, other.what == action::copy ? other.from : other.here})
                    CHECK((touched.where != answer.here.where || touched.first >= answer.here.first + answer.here.count ||
                           answer.here.first >= touched.first + touched.count));
            }
        }
    });
    CHECK(found > 0);
}

TEST_CASE("an answer's place is that of its frame among those of its peer") {
    const algorithm& entry = *find(collective::all_reduce, "halving_doubling");
    for (const int size : {2, 4, 7, 8})
        for (rank me = 0; me < size; ++me) {
            const auto made = compile(entry, {me, size});
            const auto steps = made->plan().steps();
            for (std::size_t sent = 0; sent < steps.size(); ++sent) {
                const program::answer* const by = made->answer_to(static_cast<int>(sent));
                if (!by) continue;
                for (const program::channel& way : made->receivers())
                    if (way.peer == steps[sent].peer)
                        for (const std::size_t segment : {1UL, 3UL, 100UL}) {
                            const auto all = frames_of(*made, way, 7, segment);
                            for (std::size_t slice = 0; slice < 7; ++slice)
                                CHECK(all[by->frame_index(slice, 7, segment)] == std::pair(by->step, slice));
                        }
            }
        }
}

TEST_CASE("halves that partners exchange are answered, blocks that go around a ring are not") {
    const auto answered = [](const char* algorithm, int size) {
        return count_steps(algorithm, size, [](const program& made, int step) { return made.answer_to(step) != nullptr; });
    };
    CHECK(answered("halving_doubling", 2) == 1);
    CHECK(answered("halving_doubling", 8) == 3);
    CHECK(answered("ring", 2) == 1);
    CHECK(answered("ring", 4) == 0);
    CHECK(answered("recursive_doubling", 2) == 0);
}

TEST_CASE("a sum goes back to the rank whose part came last, from the same blocks, and nobody writes there meanwhile") {
    int found = 0;
    for_every_plan([&](const algorithm& entry, participant at) {
        const auto made = compile(entry, at);
        const auto steps = made->plan().steps();
        for (std::size_t reduced = 0; reduced < steps.size(); ++reduced) {
            const program::answer* const by = made->sum_of(static_cast<int>(reduced));
            if (!by) continue;
            ++found;
            const step& one = steps[reduced];
            CHECK(one.what == action::recv_reduce);
            CHECK(made->reduces_at_once(static_cast<int>(reduced)) != made->reduces_together(static_cast<int>(reduced)));
            CHECK(steps[static_cast<std::size_t>(by->step)] == send(one.peer, one.here));
            for (std::size_t between = reduced + 1; between < static_cast<std::size_t>(by->step); ++between) {
                const step& other = steps[between];
                const bool with_it = made->reduces_together(static_cast<int>(reduced)) && other == recv_reduce(other.peer, one.here);
                CHECK((with_it || other.what == action::send || other.here.where != one.here.where ||
                       other.here.first >= one.here.first + one.here.count || one.here.first >= other.here.first + other.here.count));
            }
            for (const program::channel& way : made->senders())
                if (way.peer == one.peer) CHECK(frames_of(*made, way, 7, 3)[by->frame_index(5, 7, 3)] == std::pair(by->step, std::size_t{5}));
        }
    });
    CHECK(found > 0);
}

TEST_CASE("of two ranks each makes a sum that the other wants, of more the last partners do, and around a ring nobody does") {
    const auto sums = [](const char* algorithm, int size) {
        return count_steps(algorithm, size, [](const program& made, int step) { return made.sum_of(step) != nullptr; });
    };
    CHECK(sums("ring", 2) == 1);
    CHECK(sums("halving_doubling", 2) == 1);
    CHECK(sums("halving_doubling", 8) == 1);
    CHECK(sums("direct", 8) == 7);
    CHECK(sums("ring", 4) == 0);
    CHECK(sums("recursive_doubling", 2) == 0);
}

TEST_CASE("what several peers send for the same blocks of a round is combined together, when no other step touches them") {
    int found = 0;
    for_every_plan([&](const algorithm& entry, participant at) {
        const auto made = compile(entry, at);
        const schedule& plan = made->plan();
        for (int round = 0, index = 0; round < plan.rounds(); ++round)
            for (const step& one : plan.round(round)) {
                if (!made->reduces_together(index++)) continue;
                ++found;
                std::set<rank> peers;
                for (const step& other : plan.round(round)) {
                    if (!intersect(other.here, one.here)) continue;
                    CHECK(other == recv_reduce(other.peer, one.here));
                    CHECK(peers.insert(other.peer).second);
                }
                CHECK(peers.size() > 1);
            }
    });
    CHECK(found > 0);
    const auto together = [](const char* algorithm, int size) {
        return count_steps(algorithm, size, [](const program& made, int step) { return made.reduces_together(step); });
    };
    CHECK(together("direct", 5) == 4);
    CHECK(together("direct", 2) == 0);
    CHECK(together("star", 5) == 4);
    CHECK(together("ring", 5) == 0);
    CHECK(together("halving_doubling", 8) == 0);
}

/// Returns whether a later step than `index`, or another one of its round, uses a block that it writes. Steps to which `taken` leads do not count.
static bool is_used(const program& made, std::size_t index, const std::set<int>& taken) {
    const auto steps = made.plan().steps();
    const auto meets = [](const blocks& one, const blocks& other) { return one.where == other.where && intersect(one, other); };
    int round = 0;
    while (made.first_step(round + 1) <= static_cast<int>(index)) ++round;
    for (auto other = static_cast<std::size_t>(made.first_step(round)); other < steps.size(); ++other) {
        const step &one = steps[index], &by = steps[other];
        if (other == index || taken.contains(static_cast<int>(other))) continue;
        const bool together = static_cast<int>(other) < made.first_step(round + 1) && by.what == action::recv_reduce &&
                              one.what == action::recv_reduce && by.here == one.here;
        if (!together && (meets(by.here, one.here) || (by.what == action::copy && meets(by.from, one.here)))) return true;
    }
    return false;
}

TEST_CASE("what a step writes rests when no other step uses it but sends that take a sum to those it is made of") {
    int resting = 0, taken_away = 0;
    for_every_plan([&](const algorithm& entry, const participant& where) {
        const auto made = compile(entry, where);
        const auto steps = made->plan().steps();
        for (std::size_t index = 0; index < steps.size(); ++index) {
            if (steps[index].what == action::send || steps[index].here.where != space::output) {
                CHECK_FALSE(made->rests(static_cast<int>(index)));
                continue;
            }
            std::set<int> taken;
            int round = 0;
            while (made->first_step(round + 1) <= static_cast<int>(index)) ++round;
            for (int other = made->first_step(round); other < made->first_step(round + 1); ++other)
                if (const auto* sum = made->sum_of(other); sum && steps[static_cast<std::size_t>(other)].here == steps[index].here)
                    taken.insert(sum->step);
            CHECK(made->rests(static_cast<int>(index)) == !is_used(*made, index, taken));
            resting += made->rests(static_cast<int>(index));
            taken_away += made->rests(static_cast<int>(index)) && !taken.empty();
        }
    });
    CHECK(resting > 1000);
    CHECK(taken_away > 100);
}

TEST_CASE("no plan of an all_reduce of several ranks needs a copy of its input in the output") {
    for_every_plan([](const algorithm& entry, const participant& where) {
        if (entry.kind != collective::all_reduce || where.size == 1) return;
        const contribution made(entry.build(where));
        CHECK_FALSE(made.stays());
    });
}
