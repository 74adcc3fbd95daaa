#include "schedule/answers.hpp"

#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace tutti;

namespace {

/// The step that answers the first send.
const step* answer_in(const schedule& plan) { return answers(plan).to(plan.round(0)[0]); }

/// The same by its definition.
const step* answer_of(const schedule& plan, int round, const step& sent) {
    const step* found = nullptr;
    for (int later = round; later < plan.rounds() && !found; ++later)
        for (const step& each : plan.round(later)) {
            if (!touches(each, sent) || &each == &sent) continue;
            const bool fits = later > round && !found && each.what == action::recv && each.peer == sent.peer && each.here == sent.here;
            if (!fits) return nullptr;
            found = &each;
        }
    return found;
}

/// Of few blocks and two peers, and with many sends that are answered.
schedule random_plan(std::mt19937_64& random) {
    const auto below = [&random](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
    const auto some = [&below] {
        const int first = below(4);
        return blocks{static_cast<space>(below(3)), first, 1 + below(3) % (4 - first)};
    };
    schedule plan({.input = 4, .output = 4, .scratch = 4});
    for (int rounds = 1 + below(6); rounds > 0; --rounds) {
        for (int steps = 1 + below(3); steps > 0; --steps) {
            step next{static_cast<action>(below(4)), below(2), some(), {}};
            if (next.what == action::copy) next = copy(next.here, some());
            else if (!plan.steps().empty() && below(2) == 0) {
                const step& before = plan.steps()[static_cast<std::size_t>(below(static_cast<int>(plan.steps().size())))];
                if (is_transfer(before)) next = recv(before.peer, before.here);
            }
            plan.add(next);
        }
        plan.end_round();
    }
    return plan;
}

}  // namespace

TEST_CASE("found in one pass they are those of the definition") {
    const auto seed = test::any_seed();
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    int answered = 0;
    for (int turn = 0; turn < 20'000; ++turn) {
        const schedule plan = random_plan(random);
        const answers all(plan);
        for (int round = 0; round < plan.rounds(); ++round)
            for (const step& each : plan.round(round)) {
                const step* const expected = each.what == action::send ? answer_of(plan, round, each) : nullptr;
                REQUIRE(all.to(each) == expected);
                answered += expected != nullptr;
            }
    }
    CHECK(answered > 1000);
}

TEST_CASE("a recv into what was sent to the same peer answers the send") {
    schedule plan({.output = 4});
    plan.round(send(1, output(0, 2)), recv_reduce(1, output(2, 2)));
    plan.round(send(2, output(2)), recv(2, output(3)));
    plan.round(send(1, output(2, 2)), recv(1, output(0, 2)));
    REQUIRE(answer_in(plan));
    CHECK(answer_in(plan) == &plan.round(2)[1]);
    CHECK(answers(plan).to(plan.round(1)[0]) == nullptr);  // it is sent once more
    CHECK(answers(plan).to(plan.round(2)[0]) == nullptr);  // nothing comes any more
}

TEST_CASE("it answers only from the same peer, into the same blocks, and when nobody touches these meanwhile") {
    const auto with = [](auto... between) {
        schedule plan({.input = 4, .output = 4});
        plan.round(send(1, output(0, 2)));
        plan.round(between...);
        return answer_in(plan) != nullptr;
    };
    CHECK(with(recv(1, output(0, 2))));
    CHECK_FALSE(with(recv(2, output(0, 2))));
    CHECK_FALSE(with(recv(1, output(0))));
    CHECK_FALSE(with(recv(1, output(1, 2))));
    CHECK_FALSE(with(recv_reduce(1, output(0, 2))));
    CHECK_FALSE(with(send(2, output(1)), recv(1, output(0, 2))));
    CHECK_FALSE(with(copy(output(3), output(1)), recv(1, output(0, 2))));
    CHECK_FALSE(with(recv(1, input(0, 2))));
    schedule same({.output = 1});
    same.round(send(1, output(0)), recv(1, output(0)));
    CHECK(answer_in(same) == nullptr);
}

TEST_CASE("blocks intersect within a space") {
    CHECK(intersect(output(0, 2), output(1)));
    CHECK(intersect(output(1), output(0, 2)));
    CHECK_FALSE(intersect(output(0), output(1)));
    CHECK_FALSE(intersect(output(0, 2), output(2, 2)));
    CHECK_FALSE(intersect(input(1), output(1)));
    CHECK_FALSE(intersect(scratch(0), output(0)));
}
