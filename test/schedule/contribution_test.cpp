#include "schedule/contribution.hpp"

#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

using namespace tutti;

namespace {

constexpr int block_count = 4;

/// Of few blocks, so that steps meet on them.
schedule plan_of_few_blocks(std::mt19937_64& random) {
    const auto below = [&random](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
    const auto some = [&below] {
        const int first = below(block_count);
        return blocks{below(4) == 0 ? space::scratch : space::output, first, 1 + below(3) % (block_count - first)};
    };
    schedule plan({.output = block_count, .scratch = block_count});
    for (int rounds = below(5); rounds > 0; --rounds) {
        for (int steps = 1 + below(3); steps > 0; --steps) {
            const step next{static_cast<action>(below(4)), below(2), some(), {}};
            plan.add(next.what == action::copy ? copy(next.here, some()) : next);
        }
        plan.end_round();
    }
    return plan;
}

/// The blocks that are read, and those written until then, step by step in the order in which a round has its effect.
class reading {
public:
    reading(const schedule& plan, const contribution& found) : found_(found) {
        std::vector<const step*> order;
        for (int round = 0; round < plan.rounds(); ++round)
            for (const auto& when : {std::set{action::send}, std::set{action::recv}, std::set{action::recv_reduce, action::copy}})
                for (const step& each : plan.round(round))
                    if (when.contains(each.what)) order.push_back(&each);
        for (const step* const each : order) take(*each, static_cast<int>(each - plan.steps().data()));
        for (int block = 0; block < block_count; ++block) {
            untouched_ += !written_.contains(block);
            REQUIRE((written_.contains(block) || found_.stays(block)));  // or the result would be nothing
            REQUIRE((!found_.stays(block) || needed_.contains(block) || !written_.contains(block)));
            REQUIRE(found_.mixed(block) == needed_.contains(block));
        }
        REQUIRE(found_.stays() == (untouched_ > 0 || !needed_.empty()));
    }

    int from_input() const noexcept { return from_input_; }
    int needed() const noexcept { return static_cast<int>(needed_.size()); }

private:
    void take(const step& one, int index) {
        const blocks read = one.what == action::copy ? one.from : one.here;
        if (one.what != action::recv && read.where == space::output) {
            std::set<int> fresh, there;
            for (int block = read.first; block < read.first + read.count; ++block)
                (written_.contains(block) || needed_.contains(block) ? there : fresh).insert(block);
            REQUIRE(found_.read_by(index) == there.empty());
            from_input_ += found_.read_by(index);
            if (!there.empty()) needed_.merge(fresh);
        } else {
            REQUIRE_FALSE(found_.read_by(index));
        }
        for (int block = one.here.first; one.what != action::send && block < one.here.first + one.here.count; ++block)
            if (one.here.where == space::output) written_.insert(block);
        for (const int block : needed_) REQUIRE(found_.stays(block));
    }

    const contribution& found_;
    std::set<int> written_;
    std::set<int> needed_;  // read together with what was written
    int from_input_ = 0;
    int untouched_ = 0;
};

}  // namespace

TEST_CASE("a step reads the input as long as nothing it reads was written, and what it reads together with something else stays") {
    const auto seed = test::any_seed();
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    int from_input = 0, needed = 0;
    for (int turn = 0; turn < 20'000; ++turn) {
        const schedule plan = plan_of_few_blocks(random);
        const reading all(plan, contribution(plan));
        from_input += all.from_input();
        needed += all.needed();
    }
    CHECK(from_input > 1000);
    CHECK(needed > 1000);
}

TEST_CASE("a ring of two reads each block of its contribution once, and none of it stays") {
    schedule plan({.output = 2});
    plan.round(send(1, output(0)), recv_reduce(1, output(1)));
    plan.round(send(1, output(1)), recv(1, output(0)));
    const contribution made(plan);
    CHECK(made.read_by(0));
    CHECK(made.read_by(1));
    CHECK_FALSE(made.read_by(2));
    CHECK_FALSE(made.read_by(3));
    CHECK_FALSE(made.stays());
}

TEST_CASE("of several steps that are applied to the same blocks in one round only the first reads the input, and sends before them do") {
    schedule plan({.output = 1});
    plan.round(recv_reduce(1, output(0)), recv_reduce(2, output(0)), send(3, output(0)));
    const contribution made(plan);
    CHECK(made.read_by(0));
    CHECK_FALSE(made.read_by(1));
    CHECK(made.read_by(2));
}

TEST_CASE("a plan without steps leaves all of the contribution in the output") {
    const contribution made(schedule({.output = 1}));
    CHECK(made.stays(0));
    CHECK(made.stays());
}
