#include "gradients.hpp"
#include "support/failures.hpp"
#include "support/ranks.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

namespace reducer_failure_test {

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

enum class trouble { aborts, drops, drops_early, gives_up, overdue };

/// Rank 1 fails in the middle of the second step.
task<> fail_in_the_middle(communicator& world, trouble what, failures& told) {
    gradients mine(memory::gathered);
    reducer_options options = small_buckets();
    if (what == trouble::overdue) options.deadline = std::chrono::seconds(1);
    auto all = std::make_unique<reducer>(world, mine.parameters(), options);
    mine.backward(*all, world.rank(), 0, 0);
    co_await all->finish();
    auto& mine_told = told[static_cast<std::size_t>(world.rank())];
    if (world.rank() == 1) {
        for (std::size_t which = mine.size(); which-- > (what == trouble::drops_early ? mine.size() - 1 : 3);) all->ready(which);
        if (what == trouble::aborts) world.abort("no more memory");
        if (what == trouble::drops || what == trouble::drops_early) all.reset();
        if (what == trouble::aborts || !all) co_return;
        co_await sleep_for(std::chrono::hours(1));  // the others lose their patience first
    } else {
        mine.backward(*all, world.rank(), 1, 0);
        auto limited = outcome(what == trouble::gives_up ? with_deadline(all->finish(), std::chrono::seconds(1)) : all->finish());
        mine_told = co_await std::move(limited);
        CHECK(mine.wrong(*all, [&](std::size_t which, std::size_t element) { return gradients::value(world.rank(), which, element, 1); }) == 0);
    }
}

}  // namespace

TEST_CASE("when a rank fails in a step, the others are told why and their gradients are untouched") {
    failures told(3);
    run_ranks(3, [&](communicator& world) { return fail_in_the_middle(world, trouble::aborts, told); });
    told.erase(told.begin() + 1);
    check_each(told, error::aborted, "rank 1 aborted: no more memory");
    check_each(told, error::aborted, "(bucket ");  // whichever the news met first
}

TEST_CASE("a reducer that is dropped in a step gives up for all ranks") {
    for (const trouble what : {trouble::drops, trouble::drops_early}) {
        failures told(3);
        run_ranks(3, [&](communicator& world) { return fail_in_the_middle(world, what, told); });
        told.erase(told.begin() + 1);
        check_each(told, error::aborted, "rank 1 aborted: the reducer was destroyed in the middle of step #2");
    }
}

TEST_CASE("a reducer that is dropped before the ranks have compared their plans leaves the communicator as it was") {
    run_ranks(3, [](communicator& world) -> task<> {
        gradients mine(memory::gathered);
        for (int round = 0; round < 6; ++round) {
            auto all = std::make_unique<reducer>(world, mine.parameters(), small_buckets());
            if (world.rank() != round % 3) co_await all->agree();
            all.reset();
        }
        std::vector<int> ones{1};
        co_await world.all_reduce(ones, sum);
        CHECK(ones[0] == 3);
        reducer all(world, mine.parameters(), small_buckets());
        mine.backward(all, world.rank(), 0, 0);
        co_await all.finish();
    });
}

TEST_CASE("a comparison that nobody waits for ends when the communicator fails") {
    run_ranks(3, [](communicator& world) -> task<> {
        gradients mine(memory::gathered);
        if (world.rank() != 1) reducer(world, mine.parameters(), small_buckets());
        const auto told = co_await as_result(world.barrier());
        REQUIRE(!told);
        CHECK(told.failure().code() == error::mismatch);
    });
}

TEST_CASE("finish() can be given a deadline") {
    context_options options;
    options.operation = std::chrono::hours(2);
    failures told(2);
    run_ranks(2, [&](communicator& world) { return fail_in_the_middle(world, trouble::gives_up, told); }, options);
    REQUIRE(told[0]);
    CHECK(told[0]->code() == error::timed_out);
}

TEST_CASE("every bucket can be given a deadline") {
    failures told(2);
    run_ranks(2, [&](communicator& world) { return fail_in_the_middle(world, trouble::overdue, told); });
    REQUIRE(told[0]);
    CHECK(told[0]->code() == error::timed_out);
    CHECK(says(*told[0], "rank 0 waited 1 s in all_reduce"));
}

}  // namespace reducer_failure_test
