#include <tutti/places.hpp>

#include "job.hpp"
#include "over_each.hpp"
#include "support/failures.hpp"
#include "support/ranks.hpp"

#include <tutti/persistent.hpp>
#include <tutti/scope.hpp>

#include <fmt/format.h>

#include <numeric>

namespace places_test {

using namespace tutti;
using namespace tutti::test;

namespace {

/// Each rank's part of a sparse vector: rank r has r + 1 elements of the value `salt` + r, or, `longer` times as many.
struct sparse {
    int salt = 0;
    std::size_t longer = 1;
    std::vector<int> all;  // of every rank, behind each other

    std::vector<int> mine(rank me) const { return std::vector<int>(longer * static_cast<std::size_t>(me + 1), salt + me); }
    bool right(int size) const {
        std::vector<int> expected;
        for (rank each = 0; each < size; ++each) {
            const auto part = mine(each);
            expected.insert(expected.end(), part.begin(), part.end());
        }
        return all == expected;
    }
};

/// Two collectives, of which the second is called when the first has ended.
task<> collect(communicator& world, sparse& what, places mine) {
    const std::vector<int> values = what.mine(world.rank());
    const std::vector<std::uint64_t> own{values.size()};
    std::vector<std::uint64_t> each(static_cast<std::size_t>(world.size()));
    call_options next;
    next.place = &mine;
    CHECK(mine.left() == 2);
    co_await world.all_gather(own, each, next);
    const std::vector<std::size_t> counts(each.begin(), each.end());
    what.all.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    CHECK(mine.left() == 1);
    co_await world.all_gather_v(values, what.all, counts, next);
    CHECK(mine.left() == 0);
}

/// Sparse and dense calls in turns, all under way at once, awaited in an order of this rank's own.
task<> mix(communicator& world, std::size_t turns, std::size_t longest) {
    scope working;
    std::vector<sparse> some(turns);
    std::vector<std::vector<float>> dense(turns);
    std::vector<future<>> called;
    for (std::size_t turn = 0; turn < turns; ++turn) {
        some[turn].salt = static_cast<int>(10 * turn);
        some[turn].longer = 1 + turn * longest / turns;
        dense[turn].assign(1 + (turn % 2) * longest, 1.0f);
        working.start(collect(world, some[turn], world.reserve(2)));
        called.push_back(world.all_reduce(dense[turn], sum));
    }
    if (world.rank() % 2 == 0) co_await working.join();
    for (auto& each : called) co_await std::move(each);
    if (world.rank() % 2 != 0) co_await working.join();
    for (std::size_t turn = 0; turn < turns; ++turn) {
        CHECK(some[turn].right(world.size()));
        CHECK(dense[turn] == std::vector<float>(dense[turn].size(), static_cast<float>(world.size())));
    }
}

task<> tell(communicator& world, task<> work, failures& told) {
    try {
        co_await std::move(work);
        co_await world.watch();
    } catch (const failure& why) {
        told[static_cast<std::size_t>(world.rank())] = why;
    }
}

/// Each rank's failure, of a body in which a call goes wrong on one of them.
failures told_in(int size, task<> (*body)(communicator&)) {
    failures told(static_cast<std::size_t>(size));
    run_ranks(size, [&](communicator& world) { return tell(world, body(world), told); });
    return told;
}

task<> give_up(communicator& world) {
    co_await world.barrier();  // else the failure may come while a rank still joins
    places mine = world.reserve(3);
    call_options next;
    next.place = &mine;
    co_await world.barrier(next);
    if (world.rank() != 1) {
        co_await world.barrier(next);
        co_await world.barrier(next);
    }
}

task<> use_too_many(communicator& world) {
    co_await world.barrier();
    places mine = world.reserve(1);
    call_options next;
    next.place = &mine;
    co_await world.barrier(next);
    if (world.rank() == 2) co_await world.barrier(next);
    else co_await world.barrier();
}

task<> call_another(communicator& world) {
    co_await world.barrier();
    std::vector<int> data{1};
    places mine = world.reserve(1);
    call_options next;
    next.place = &mine;
    next.deadline = std::chrono::hours(1);
    auto behind = world.barrier();
    if (world.rank() == 0) co_await world.barrier(next);
    else co_await world.all_reduce(data, sum, next);
    co_await std::move(behind);
}

task<> wait_behind(communicator& world) {
    co_await world.barrier();
    places mine = world.reserve(2);
    call_options next, limited;
    next.place = &mine;
    limited.deadline = std::chrono::seconds(3);
    auto behind = world.barrier(limited);
    co_await world.barrier(next);
    if (world.rank() != 1) co_await world.barrier(next);
    co_await std::move(behind);
}

/// More calls behind a place than an engine remembers, while it asks whether the others wait in the same one.
task<> call_many_behind(communicator& world) {
    if (world.rank() == 1) co_await sleep_for(std::chrono::milliseconds(700));
    places mine = world.reserve(2);
    call_options next;
    next.place = &mine;
    std::vector<std::vector<float>> data(70, std::vector<float>(10, 1));
    std::vector<future<>> behind;
    for (auto& each : data) behind.push_back(world.all_reduce(each, sum));
    std::vector<double> first(1, 1), second(2, 1);
    co_await world.all_reduce(first, sum, next);
    co_await sleep_for(std::chrono::seconds(2));
    co_await world.all_reduce(second, sum, next);
    for (auto& each : behind) co_await std::move(each);
    CHECK(second == std::vector<double>(2, world.size()));
    CHECK(data.back() == std::vector<float>(10, static_cast<float>(world.size())));
}

}  // namespace

TEST_CASE("functions of several collectives stand in the order like one, whenever their later calls come") {
    for (const int size : {1, 2, 3, 5, 8})
        for (const std::size_t longest : {0u, 300u, 5000u}) {
            CAPTURE(size);
            CAPTURE(longest);
            run_ranks(size, [&](communicator& world) { return mix(world, 4, longest); }, slices_of(1024));
        }
}

TEST_CASE("the same over a network whose delays differ") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        job ranks(seed, uneven_line(random));
        ranks.run(2 + static_cast<int>(seed % 4), [](std::unique_ptr<communicator> all) -> task<> {
            communicator& world = *all;
            auto work = mix(world, 5, 700);
            co_await std::move(work);
            co_await world.close();
        });
    }
}

TEST_CASE("the same over every transport") {
    run_over_each(3, [](communicator& world) { return mix(world, 6, 40'000); });
}

TEST_CASE("calls behind reserved places begin when those have been used, and no others wait") {
    run_ranks(2, [](communicator& world) -> task<> {
        auto before = world.barrier();
        places mine = world.reserve(2);
        auto behind = world.barrier();
        co_await std::move(before);
        call_options next;
        next.place = &mine;
        co_await world.barrier(next);
        co_await sleep_for(std::chrono::seconds(1));
        CHECK(!behind.ready());
        co_await world.barrier(next);
        co_await std::move(behind);
    });
}

TEST_CASE("a place that is used late is not taken for one of the many calls behind it") {
    for (const int size : {2, 3}) run_ranks(size, call_many_behind);
}

TEST_CASE("places that are given up unused fail the communicator on all ranks") {
    const failures told = told_in(4, give_up);
    check_each(told, error::aborted, "rank 1 gave up 2 reserved places in the order, from #3 on, without a call");
}

TEST_CASE("a call needs a place that is left") {
    check_each(told_in(4, use_too_many), error::invalid_argument,
               "rank 2 called barrier with a wrong argument: no reserved place is left");
}

TEST_CASE("two different calls at one reserved place are a mismatch") {
    check_each(told_in(4, call_another), error::mismatch, "barrier");
}

TEST_CASE("a call that waits behind a reserved place says so when its time is over") {
    check_each(told_in(3, wait_behind), error::timed_out, "in barrier #4");
    const auto alone = told_in(2, wait_behind)[1];
    CHECK(alone->details().cause == "rank 1 waited 3 s in barrier #4, which begins when rank 1 has called what it reserved place #3 for");
    CHECK(alone->details().peers == std::vector<rank>{1});
}

TEST_CASE("places are for collectives of their communicator that are called once") {
    run_ranks(1, [](communicator& world) -> task<> {
        std::vector<int> data{1};
        places mine = world.reserve(1);
        call_options next;
        next.place = &mine;
        CHECK_THROWS_WITH((void)world.send(data, 0, 0, next), "a reserved place is for a collective, not send i32 count 1 to rank 0 tag 0");
        CHECK_THROWS_WITH((void)world.monitored_barrier(next), "a reserved place is for a collective in their order, not monitored_barrier");
        const auto kept = [&](call_options how) {
            how.place = &mine;
            return world.barrier(how);
        };
        CHECK_THROWS_WITH(persistent{kept}, "a persistent call takes a place when it is started, and none that was reserved");
        CHECK(mine.left() == 1);
        co_await world.barrier(next);
        CHECK(world.reserve(0).left() == 0);
        CHECK_THROWS_WITH((void)world.reserve((1 << 20) + 1), "rank 0 reserved 1048577 places in the order of world; the limit is 1048576");
        auto splitting = world.split(0, 0);
        const auto child = co_await std::move(splitting);
        places others = child->reserve(1);
        next.place = &others;
        const auto refused = co_await as_result(world.barrier(next));
        REQUIRE(!refused);
        CHECK(says(refused.failure(), "its place was reserved on another communicator"));
        next.place = &others;
        co_await child->barrier(next);
        co_await child->close();
    });
}

}  // namespace places_test
