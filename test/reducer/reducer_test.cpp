#include "gradients.hpp"
#include "support/failures.hpp"
#include "support/rank_threads.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

#include <array>

namespace reducer_test {

using namespace tutti;
using test::check_each;
using test::failures;
using test::gradients;
using test::memory;
using test::outcome;
using test::run_ranks;
using test::says;
using test::small_buckets;

namespace {

// ---- right results

task<> train(communicator& world, memory where, int steps) {
    gradients mine(where);
    reducer all(world, mine.parameters(), small_buckets());
    for (int step = 0; step < steps; ++step) {
        mine.backward(all, world.rank(), step, static_cast<unsigned>(step * world.size() + world.rank()));
        co_await all.finish();
        REQUIRE(mine.wrong_averages(all, world.size(), step) == 0);
    }
    CHECK(all.stats().total.steps == static_cast<std::uint64_t>(steps));
}

task<> sum_once(communicator& world) {
    gradients mine(memory::gathered);
    reducer_options options = small_buckets();
    options.op = sum;
    reducer all(world, mine.parameters(), options);
    co_await all.agree();
    mine.backward(all, world.rank(), 0, 0);
    co_await all.finish();
    const int size = world.size();
    CHECK(mine.wrong(all, [&](std::size_t which, std::size_t element) { return gradients::average(size, which, element, 0) * size; }) == 0);
}

}  // namespace

TEST_CASE("gradients are averaged, wherever they live and in whatever order each rank makes them") {
    for (int size : {1, 2, 3, 4})
        for (const memory where : {memory::gathered, memory::placed, memory::mixed}) {
            CAPTURE(size);
            CAPTURE(static_cast<int>(where));
            run_ranks(size, [&](communicator& world) { return train(world, where, 20); });
        }
}

TEST_CASE("a thousand steps with ready orders that differ by rank are all right") {
    run_ranks(3, [](communicator& world) { return train(world, memory::mixed, 1000); });
}

TEST_CASE("gradients can be summed instead") { run_ranks(3, sum_once); }

// ---- unused, missing and doubled parameters

namespace {

task<> leave_out(communicator& world) {
    gradients mine(memory::mixed);
    reducer all(world, mine.parameters(), small_buckets());
    for (int step = 0; step < 3; ++step) {
        const bool part = world.rank() == 1;  // this rank uses the even parameters only
        for (std::size_t which = 0; which < mine.size(); ++which) {
            mine.fill(all, world.rank(), which, step);
            if (part && which % 2 == 1) all.mark_unused(which);
            else all.ready(which);
        }
        co_await all.finish();
        CHECK(mine.wrong(all, [&](std::size_t which, std::size_t element) {
            const int odd = which % 2 == 1 ? gradients::value(1, which, element, step) : 0;
            return static_cast<double>(gradients::average(2, which, element, step)) - odd / 2.0;
        }) == 0);
    }
}

enum class mistake { missing, all_missing, doubled, unknown };

task<> err(communicator& world, mistake what, failures& told) {
    gradients mine(memory::gathered);
    reducer all(world, mine.parameters(), small_buckets());
    mine.backward(all, world.rank(), 0, 0);
    co_await all.finish();
    for (std::size_t which = mine.size(); which-- > 0;) {
        const bool missing = what == mistake::all_missing || (what == mistake::missing && (which == 3 || which == 4));
        if (world.rank() == 1 && missing) continue;
        mine.fill(all, world.rank(), which, 1);
        all.ready(which);
        if (world.rank() == 1 && what == mistake::doubled && which == 3) all.ready(which);
        if (world.rank() == 1 && what == mistake::unknown && which == 3) all.ready(mine.size());
    }
    auto& mine_told = told[static_cast<std::size_t>(world.rank())];
    auto ending = outcome(all.finish());
    mine_told = co_await std::move(ending);
    if (world.rank() == 1) CHECK(mine.wrong(all, [&](std::size_t which, std::size_t element) {
        const bool filled = what == mistake::doubled || what == mistake::unknown || (what == mistake::missing && which != 3 && which != 4);
        return filled ? gradients::value(1, which, element, 1) : gradients::average(world.size(), which, element, 0);
    }) == 0);
    auto again = outcome(all.finish());
    const auto second = co_await std::move(again);
    REQUIRE(second);
    if (mine_told) CHECK(second->code() == mine_told->code());
}

void check_mistake(mistake what, const std::string& expected) {
    failures told(3);
    run_ranks(3, [&](communicator& world) { return err(world, what, told); });
    REQUIRE(told[1]);
    CHECK(told[1]->code() == error::invalid_argument);
    CHECK(std::string(told[1]->what()) == "rank 1: reducer step #2: " + expected);
    for (const std::size_t other : {std::size_t{0}, std::size_t{2}}) {
        REQUIRE(told[other]);
        CHECK(told[other]->code() == error::aborted);
        CAPTURE(told[other]->what());
        CHECK(says(*told[other], "rank 1 aborted: reducer step #2: " + expected));
    }
}

}  // namespace

TEST_CASE("an unused parameter counts as zero") { run_ranks(2, leave_out); }

TEST_CASE("missing parameters are named in the same step, on all ranks") {
    check_mistake(mistake::missing, "2 of 9 parameters got no gradient: 'layer 3', 'layer 4'; mark_unused() tells that one is not used");
    check_mistake(mistake::all_missing, "9 of 9 parameters got no gradient: 'layer 0', 'layer 1', 'layer 2', 'layer 3', 'layer 4', 'layer 5', 'layer 6', "
                                        "'layer 7' and others; mark_unused() tells that one is not used");
}

TEST_CASE("a parameter that is marked twice is named in the same step, on all ranks") {
    check_mistake(mistake::doubled, "parameter 'layer 3' was marked twice in one backward pass");
}

TEST_CASE("a parameter that does not exist is an error of the same step") { check_mistake(mistake::unknown, "there is no parameter 9, only 9"); }

// ---- plans that differ

namespace {

using list = std::vector<parameter>;

task<> disagree(communicator& world, const list& parameters, reducer_options options, failures& told) {
    auto all = std::make_unique<reducer>(world, parameters, options);
    for (std::size_t which = 0; which < parameters.size(); ++which) all->ready(which);
    auto ending = outcome(world.rank() == 0 ? all->agree() : all->finish());
    auto& mine = told[static_cast<std::size_t>(world.rank())];
    mine = co_await std::move(ending);
    all.reset();
    std::vector<float> data(1, 1.0f);
    co_await world.all_reduce(data, sum);  // nothing was broken
    CHECK(data[0] == static_cast<float>(world.size()));
}

void check_disagreement(const list& different, const reducer_options& options, const std::string& expected) {
    const list usual{{"a", 100, data_type::f32}, {"b", 200, data_type::f32}, {"c", 200, data_type::f32}};
    failures told(3);
    run_ranks(3, [&](communicator& world) {
        const bool odd = world.rank() == 2;
        return disagree(world, odd ? different : usual, odd ? options : small_buckets(), told);
    });
    check_each(told, error::mismatch, "ranks disagree about the gradients: " + expected);
}

}  // namespace

TEST_CASE("ranks with different parameters are told the first that differs, and its bucket") {
    const auto same = small_buckets();
    check_disagreement({{"a", 100, data_type::f32}, {"B", 200, data_type::f32}, {"c", 200, data_type::f32}}, same,
                       "rank 0 has in bucket 1: f32 x 200 of parameter 1 'b', rank 2 has in bucket 1: f32 x 200 of parameter 1 'B'");
    check_disagreement({{"a", 101, data_type::f32}, {"b", 200, data_type::f32}, {"c", 200, data_type::f32}}, same,
                       "rank 0 has in bucket 1: f32 x 100 of parameter 0 'a', rank 2 has in bucket 1: f32 x 101 of parameter 0 'a'");
    check_disagreement({{"a", 100, data_type::f32}, {"b", 200, data_type::f32}, {"c", 200, data_type::i32}}, same,
                       "rank 0 has in bucket 0: f32 x 200 of parameter 2 'c', rank 2 has in bucket 0: i32 x 200 of parameter 2 'c'");
    check_disagreement({{"b", 200, data_type::f32}, {"c", 200, data_type::f32}}, same,
                       "rank 0 has in bucket 0: f32 x 200 of parameter 2 'c', rank 2 has in bucket 0: f32 x 200 of parameter 1 'c'");
}

TEST_CASE("ranks with different buckets or operators are told") {
    const list usual{{"a", 100, data_type::f32}, {"b", 200, data_type::f32}, {"c", 200, data_type::f32}};
    reducer_options options = small_buckets();
    options.bucket = 1 * KiB;
    check_disagreement(usual, options, "rank 0 has in bucket 1: f32 x 100 of parameter 0 'a', rank 2 has in bucket 2: f32 x 100 of parameter 0 'a'");
    options = small_buckets();
    options.op = sum;
    check_disagreement(usual, options, "rank 0 has operator avg, rank 2 has operator sum");
}

// ---- passes

namespace {

/// Adds up over three passes; the second step has two. Parameter 1 is used in the first pass only, parameter 3 never.
task<> accumulate(communicator& world, memory where) {
    gradients mine(where);
    reducer all(world, mine.parameters(), small_buckets());
    for (const int passes : {3, 2}) {
        all.accumulate(passes);
        for (std::size_t which = 0; which < mine.size(); ++which)
            for (std::size_t element = 0; element < all.gradient(which).count; ++element) test::put(all.gradient(which), element, 0);
        for (int pass = 0; pass < passes; ++pass) {
            for (std::size_t which = mine.size(); which-- > 0;) {
                const buffer into = all.gradient(which);
                const bool unused = which == 3 || (which == 1 && pass > 0);
                if (!unused)
                    for (std::size_t element = 0; element < into.count; ++element)
                        test::put(into, element, static_cast<int>(test::at(into, element)) + gradients::value(world.rank(), which, element, 0) / 3);
                if (unused) all.mark_unused(which);
                else all.ready(which);
            }
            co_await all.finish();
            CHECK(all.stats().total.steps == (passes == 3 ? 0u : 1u) + (pass + 1 == passes ? 1u : 0u));
        }
        CHECK(mine.wrong(all, [&](std::size_t which, std::size_t element) {
            const int times = which == 3 ? 0 : which == 1 ? 1 : passes;
            double total = 0;
            for (rank each = 0; each < world.size(); ++each) total += times * (gradients::value(each, which, element, 0) / 3);
            return total / world.size();
        }) == 0);
    }
}

task<> misuse_passes(communicator& world, failures& told) {
    gradients mine(memory::gathered);
    reducer all(world, mine.parameters(), small_buckets());
    CHECK_THROWS_WITH_AS(all.accumulate(0), doctest::Contains("a step has at least one backward pass, not 0"), failure);
    all.accumulate(2);
    all.ready(0);
    CHECK_THROWS_WITH_AS(all.accumulate(1), doctest::Contains("accumulate() was called in the middle of a step"), failure);
    auto ending = outcome(all.finish());
    auto& mine_told = told[static_cast<std::size_t>(world.rank())];
    mine_told = co_await std::move(ending);
}

}  // namespace

TEST_CASE("passes add up and only the last of a step communicates") {
    for (const memory where : {memory::gathered, memory::placed}) run_ranks(2, [&](communicator& world) { return accumulate(world, where); });
}

TEST_CASE("passes are set between steps, and each is checked") {
    failures told(1);
    run_ranks(1, [&](communicator& world) { return misuse_passes(world, told); });
    check_each(told, error::invalid_argument, "8 of 9 parameters got no gradient: 'layer 1'");
}

// ---- order of calls

namespace {

task<> finish_twice(communicator& world, failures& told) {
    gradients mine(memory::gathered);
    reducer all(world, mine.parameters(), small_buckets());
    mine.backward(all, world.rank(), 0, 0);
    auto both = when_all(outcome(all.finish()), outcome(all.finish()));
    const auto ends = co_await std::move(both);
    CHECK(!std::get<0>(ends));
    CHECK(mine.wrong_averages(all, world.size(), 0) == 0);
    told[static_cast<std::size_t>(world.rank())] = std::get<1>(ends);
}

task<> mark(reducer& in) {
    in.ready(0);
    co_return;
}

task<> mark_too_early(communicator& world, failures& told) {
    gradients mine(memory::gathered);
    reducer all(world, mine.parameters(), small_buckets());
    mine.backward(all, world.rank(), 0, 0);
    auto both = when_all(outcome(all.finish()), outcome(mark(all)));
    const auto ends = co_await std::move(both);
    told[static_cast<std::size_t>(world.rank())] = std::get<0>(ends);
}

}  // namespace

TEST_CASE("a step is finished once") {
    failures told(2);
    run_ranks(2, [&](communicator& world) { return finish_twice(world, told); });
    check_each(told, error::invalid_argument, "finish() or agree() was called while another was going on");
}

TEST_CASE("a new step does not begin before the earlier has ended") {
    failures told(2);
    run_ranks(2, [&](communicator& world) { return mark_too_early(world, told); });
    check_each(told, error::invalid_argument, "a parameter was marked while finish() or agree() was going on");
}

// ---- what cannot be right, and what users ask

namespace {

task<> refuse(communicator& world) {
    std::vector<float> values(10);
    const auto make = [&](reducer_options options) { reducer(world, {{"values", values}}, options); };
    reducer_options options;
    options.bucket = 25;
    CHECK_THROWS_WITH_AS(make(options), doctest::Contains("a bucket's cap is 25 bytes, the least is 1024"), failure);
    options = {};
    options.op = max;
    CHECK_THROWS_WITH_AS(make(options), "gradients are combined by avg or sum, not max", failure);
    options = {};
    options.live = 0;
    CHECK_THROWS_WITH_AS(make(options), "at least one bucket must be allowed under way", failure);
    options = {};
    options.deadline = std::chrono::seconds(-1);
    CHECK_THROWS_WITH_AS(make(options), "a deadline of -1 s", failure);
    const reducer good(world, {{"values", values}});
    CHECK_THROWS_WITH_AS(good.gradient(1), doctest::Contains("there is no parameter 1, only 1"), failure);
    CHECK_THROWS_WITH_AS(good.gradient<double>(0), "parameter 'values' is f32, not f64", failure);
    CHECK(good.gradient<float>(0).data() == values.data());
    co_return;
}

task<> ask(communicator& world) {
    std::array<std::size_t, 2> caps{1 * KiB, 4 * KiB};
    reducer_options options;
    options.caps = caps;
    const reducer all(world, {{"a", 1000, data_type::f32}, {"b", 20, data_type::f32}, {"c", 250, data_type::f32}}, options);
    REQUIRE(all.buckets().size() == 2);
    CHECK(all.buckets()[0].parameters == std::vector<std::size_t>{2});
    CHECK(all.buckets()[1].parameters == std::vector<std::size_t>{1, 0});
    CHECK(all.buckets()[1].bytes() == 4080);
    CHECK(all.gradient<float>(0).data() == all.gradient<float>(1).data() + 20);
    co_return;
}

}  // namespace

TEST_CASE("options and questions that cannot be right are refused") { run_ranks(1, refuse); }
TEST_CASE("the planned buckets can be asked for") { run_ranks(1, ask); }

// ---- progress on other threads

TEST_CASE("buckets end on the threads of their contexts while the steps run elsewhere") {
    test::run_ranks_on_threads(
        2, [](communicator& world) { return train(world, memory::mixed, 50); }, [](rank) { return context_options(); });
}

TEST_CASE("the checking mode finds no mistake in what a reducer calls for itself") {
    static std::vector<std::string> notices;
    context_options options;
    options.check = true;
    options.notice = [](const std::string& sentence) { notices.push_back(sentence); };
    run_ranks(2, [](communicator& world) -> task<> {
        std::vector<float> gradient(3000, 1);
        std::vector<parameter> parameters;
        parameters.emplace_back("weights", gradient);
        reducer step(world, parameters, {});
        for (int turn = 0; turn < 3; ++turn) {
            step.ready(0);
            co_await step.finish();
        }
    }, options);
    CHECK(notices == std::vector<std::string>{});
}

}  // namespace reducer_test
