// Barriers that name all who are missing.
#include "support/ranks.hpp"
#include "support/threads.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>

namespace monitor_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::run_ranks;

namespace {

call_options within(duration limit) {
    call_options options;
    options.deadline = limit;
    options.label = "checkpoint";
    return options;
}

bool among(const std::vector<rank>& some, rank one) { return std::find(some.begin(), some.end(), one) != some.end(); }

/// The failure of a future, which must have one.
task<report> failure_of(future<> begun) {
    auto ended = co_await as_result(std::move(begun));
    REQUIRE_FALSE(ended);
    co_return ended.failure().details();
}

struct row {
    int size;
    std::vector<rank> absent;
    std::string cause;
};

/// All but ranks 0 and `other`.
row only_two_come(int size, rank other) {
    row made{size, {}, "ranks "};
    for (rank each = 1; each < size; ++each)
        if (each != other) {
            made.absent.push_back(each);
            made.cause += (each == 1 ? "" : ", ") + std::to_string(each);
        }
    made.cause += " did not come to monitored_barrier #2 within 2 s";
    return made;
}

task<> miss_some(communicator& world, const row& one, int& told) {
    co_await world.monitored_barrier();
    event_loop& loop = co_await this_loop;
    const time_point begin = loop.now();
    const bool absent = among(one.absent, world.rank());
    auto hearing = failure_of(absent ? world.watch() : world.monitored_barrier(within(2s)));
    const report why = co_await std::move(hearing);
    CHECK(why.code == error::timed_out);
    CHECK(why.peers == one.absent);
    CHECK(why.cause == one.cause);
    CHECK(loop.now() - begin >= 2s);
    CHECK(loop.now() - begin <= 2s + 10ms);
    ++told;
    if (absent) co_return;
    CHECK(why.operation == "monitored_barrier");
    CHECK(why.sequence == 2);
    CHECK(why.local == world.rank());
    CHECK(why.label == "checkpoint");
    CHECK(why.elapsed >= 2s);
}

task<> meet_often(communicator& world, std::vector<int>& came) {
    for (int round = 1; round <= 50; ++round) {
        co_await sleep_for(std::chrono::microseconds(world.rank() * round * 37 % 1000));
        came[static_cast<std::size_t>(world.rank())] = round;
        co_await world.monitored_barrier();
        for (const int each : came) CHECK(each >= round);
    }
}

task<> meet_ahead(communicator& world) {
    std::deque<future<>> begun;
    std::vector<float> data(5000, 1.0f);
    for (int round = 0; round < 100; ++round) begun.push_back(world.monitored_barrier());
    // Not in the order of collectives: half of the ranks call one before it awaits, the others after.
    if (world.rank() % 2 == 0) co_await world.all_reduce(data, sum);
    for (auto& each : begun) co_await std::move(each);
    if (world.rank() % 2 == 1) co_await world.all_reduce(data, sum);
}

task<> wait_shorter(communicator& world) {
    event_loop& loop = co_await this_loop;
    const time_point begin = loop.now();
    if (world.rank() == 2) {
        co_await sleep_for(1min);
        co_return;
    }
    auto hearing = failure_of(world.monitored_barrier(within(world.rank() == 3 ? 1s : 10s)));
    const report why = co_await std::move(hearing);
    CHECK(why.cause == "rank 2 did not come to monitored_barrier #1 within 1 s");
    CHECK(loop.now() - begin <= 1s + 10ms);
}

task<> leave_early(communicator& world, rank who, int& told) {
    if (world.rank() == who) co_return;  // closes
    auto hearing = failure_of(world.monitored_barrier(within(1min)));
    const report why = co_await std::move(hearing);
    CHECK(why.code == error::peer_left);
    CHECK(why.peers == std::vector<rank>{who});
    ++told;
}

/// Rank 1 closes while it waits with rank 0 for rank 2.
task<> close_meanwhile(communicator& world, int& told) {
    constexpr auto words = "rank 1 closed its communicator, in which monitored_barrier #1 did not end in time";
    auto hearing = failure_of(world.rank() == 2 ? world.watch() : world.monitored_barrier());
    if (world.rank() == 1) {
        auto closing = world.close(1s);
        try {
            co_await std::move(closing);
        } catch (const failure& why) {
            CHECK(why.details().cause == words);
        }
    }
    const report why = co_await std::move(hearing);
    CHECK(why.code == error::timed_out);
    CHECK(why.root == 1);
    CHECK(why.cause == words);
    ++told;
}

task<> drop_one(communicator& world) {
    if (world.rank() == 1) {
        auto dropped = world.monitored_barrier();
        co_await sleep_for(1ms);
    }
    auto hearing = failure_of(world.rank() == 0 ? world.monitored_barrier() : world.watch());
    const report why = co_await std::move(hearing);
    CHECK(why.code == error::cancelled);
    CHECK(why.root == 1);
}

task<> call_too_late(communicator& world) {
    co_await world.monitored_barrier();
    world.abort("enough");
    auto hearing = failure_of(world.monitored_barrier());
    const report why = co_await std::move(hearing);
    CHECK(why.code == error::aborted);
    CHECK(why.operation == "monitored_barrier");
    try {
        auto closing = world.close();
        co_await std::move(closing);
    } catch (const failure& how) {
        CHECK(how.code() == error::aborted);
    }
    auto again = failure_of(world.monitored_barrier());
    const report still = co_await std::move(again);
    CHECK(still.code == error::aborted);
}

task<> call_too_often(communicator& world) {
    std::deque<future<>> begun;
    if (world.rank() == 1)
        for (int round = 0; round < 2000; ++round) begun.push_back(world.monitored_barrier());
    auto hearing = failure_of(world.watch());
    const report why = co_await std::move(hearing);
    CHECK(why.code == error::invalid_argument);
    CHECK(why.cause == "rank 1 called monitored_barrier with 1024 of them under way, which is the limit");
    for (auto& each : begun) (void)co_await as_result(std::move(each));
}

task<> wait_for_silent_hub(communicator& world, simulated_network& network) {
    co_await world.monitored_barrier();
    event_loop& loop = co_await this_loop;
    line_options silence;
    silence.latency = 1h;
    if (world.rank() == 0) network.set(0, 1, silence);
    co_await sleep_for(1s);
    const time_point begin = loop.now();
    // Both come, but the release does not reach rank 1 in time.
    if (world.rank() == 0) co_await world.monitored_barrier(within(10s));
    auto hearing = failure_of(world.rank() == 0 ? world.watch() : world.monitored_barrier(within(2s)));
    const report why = co_await std::move(hearing);
    CHECK(why.code == error::timed_out);
    CHECK(why.peers == std::vector<rank>{0});
    CHECK(loop.now() - begin <= 3s + 10ms);
}

}  // namespace

TEST_CASE("a monitored barrier names all ranks that have not come, and only them, on all ranks") {
    const row rows[] = {
        {8, {2, 5}, "ranks 2, 5 did not come to monitored_barrier #2 within 2 s"},
        {8, {0, 3}, "ranks 0, 3 did not come to monitored_barrier #2 within 2 s"},
        {8, {1, 2, 3, 4, 5, 6, 7}, "ranks 1, 2, 3, 4, 5, 6, 7 did not come to monitored_barrier #2 within 2 s"},
        {2, {0}, "rank 0 did not come to monitored_barrier #2 within 2 s"},
        only_two_come(130, 7),
    };
    for (const row& each : rows) {
        CAPTURE(each.cause);
        int told = 0;
        run_ranks(each.size, [&](communicator& world) { return miss_some(world, each, told); });
        CHECK(told == each.size);
    }
}

TEST_CASE("no rank leaves a monitored barrier before all have come, of any number of ranks") {
    for (const int size : {1, 2, 3, 5, 8}) {
        std::vector<int> came(static_cast<std::size_t>(size));
        run_ranks(size, [&came](communicator& world) { return meet_often(world, came); });
    }
}

TEST_CASE("many monitored barriers may be under way, in any order beside collectives") { run_ranks(4, meet_ahead); }

TEST_CASE("the shortest deadline of those who wait counts") { run_ranks(5, wait_shorter); }

TEST_CASE("a rank that leaves instead of coming is named") {
    for (const rank who : {0, 1, 3}) {
        CAPTURE(who);
        int told = 0;
        run_ranks(4, [&](communicator& world) { return leave_early(world, who, told); });
        CHECK(told == 3);
    }
}

TEST_CASE("closing a communicator in which a monitored barrier waits too long fails it on all ranks") {
    int told = 0;
    run_ranks(3, [&told](communicator& world) { return close_meanwhile(world, told); });
    CHECK(told == 3);
}

TEST_CASE("dropping a monitored barrier fails the communicator") { run_ranks(3, drop_one); }

TEST_CASE("a monitored barrier on a failed or closed communicator ends with its cause") { run_ranks(2, call_too_late); }

TEST_CASE("a program that never awaits its monitored barriers fails instead of eating memory") { run_ranks(3, call_too_often); }

TEST_CASE("monitored barriers may be called from several threads") {
    constexpr int size = 2, threads = 4, rounds = 2000;
    memory_table table;
    std::atomic<int> ended{0};
    test::on_threads(size, [&](rank me) {
        context home;
        event_loop loop;
        const auto world = run(loop, home.join(test::world_of(me, size), memory_store(table)));
        test::on_threads(threads, [&](int) {
            for (int round = 0; round < rounds; ++round) world->monitored_barrier(within(20s)).get();
            ++ended;
        });
        run(loop, world->close());
    });
    CHECK(ended == size * threads);
}

TEST_CASE("a rank 0 that says nothing is named, a little later") {
    event_loop loop(event_loop::virtual_time);
    simulated_network network(1);
    run_ranks(
        loop, 2, [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); },
        [&network](communicator& world) { return wait_for_silent_hub(world, network); });
}

}  // namespace monitor_test
