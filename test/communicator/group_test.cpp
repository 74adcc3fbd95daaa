#include "algorithm/cost_text.hpp"
#include "join/contact.hpp"
#include "support/ranks.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>

namespace group_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::run_ranks;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The failure that `work` ends with; fails the test when there is none.
task<failure> failure_of(future<> work) {
    try {
        co_await std::move(work);
    } catch (const failure& why) {
        co_return why;
    }
    FAIL("nothing failed");
    throw failure(error::system, "unreachable");
}

task<> meet(communicator& all) { co_await all.barrier(); }

/// Some ranks of a job join; each tells how that ended.
task<> try_to_join(context& home, world who, std::shared_ptr<store> meeting, std::vector<std::string>& endings) {
    auto joining = home.join(who, std::move(meeting));
    try {
        const auto all = co_await std::move(joining);
        endings[static_cast<std::size_t>(who.me)] = "joined";
    } catch (const failure& why) {
        CHECK(why.code() == error::rendezvous_timeout);
        CHECK(why.details().peers == std::vector<rank>{2, 4});
        endings[static_cast<std::size_t>(who.me)] = why.what();
    }
}

task<> stay(communicator& all, duration before, int& count) {
    co_await all.barrier();
    if (all.rank() == 1) co_return;
    co_await sleep_for(before);
    const failure why = co_await failure_of(all.barrier());
    CHECK(why.code() == error::peer_left);
    CHECK(why.details().root == 1);
    CHECK(contains(why.what(), "rank 1 left while"));
    ++count;
}

task<> wait_for_abort(communicator& all, int& count) {
    co_await all.barrier();
    if (all.rank() == 2) {
        co_await sleep_for(1ms);
        all.abort("the disk is full");
        all.abort("said twice");
    }
    const failure why = co_await failure_of(all.rank() == 2 ? all.barrier() : all.barrier());
    CHECK(why.code() == error::aborted);
    CHECK(why.details().root == 2);
    CHECK(contains(why.what(), "rank 2 aborted: the disk is full"));
    ++count;
}

task<> close_twice(communicator& all, int& count) {
    if (all.rank() == 0) all.abort("no more");
    const failure why = co_await failure_of(all.barrier());
    try {
        auto closing = all.close();
        co_await std::move(closing);
        FAIL("it has failed");
    } catch (const failure& again) {
        CHECK(again.code() == why.code());
        ++count;
    }
}

task<> watch_and_fail(communicator& all, int& count) {
    auto watch = all.watch();
    co_await all.barrier();
    if (all.rank() == 0) all.abort("enough");
    const failure why = co_await failure_of(std::move(watch));
    CHECK(why.code() == error::aborted);
    ++count;
}

task<> close_early(communicator& all, std::string& said) {
    co_await all.barrier();
    if (all.rank() == 0) {
        co_await sleep_for(10s);
        co_return;
    }
    try {
        auto closing = all.close(2s);
        co_await std::move(closing);
    } catch (const failure& why) {
        CHECK(why.code() == error::timed_out);
        said = why.what();
    }
}

/// Rank 1 goes as soon as it has given everything away; the others still have something to say to each other.
task<> leave_soon(context& home, world who, std::shared_ptr<store> meeting, int& count) {
    auto joining = home.join(who, std::move(meeting));
    auto all = co_await std::move(joining);
    std::vector<float> data(10'000, static_cast<float>(who.me));
    co_await all->broadcast(data, 1);
    CHECK(data == std::vector<float>(10'000, 1));
    if (who.me == 1) co_return;
    co_await sleep_for(2s);
    if (who.me == 0) co_await all->send(data, 2);
    if (who.me == 2) co_await all->recv(data, 0);
    co_await sleep_for(1s);
    const failure why = co_await failure_of(all->broadcast(data, 1));
    CHECK(why.code() == error::peer_left);
    CHECK(why.details().root == 1);
    ++count;
}

/// As rank 0 of two ranks of another build would: it calls, and answers rank 1 by a list of members with these costs and tuning.
task<> play_rank_0(store& meeting, std::string said) {
    event_loop& loop = co_await this_loop;
    const time_point soon = loop.now() + 1s;
    auto called = co_await meeting.set("job/call", "7 2", soon);
    called.value();
    auto answer = co_await meeting.get("job/address/1", soon);
    const std::string first = fmt::format("7 1 {}\n", contact_in(answer.value()).ticket);
    auto told = co_await meeting.set("job/members", first + "524288 0 65536 1 00 " + said + "\n0 a\n0 b\n", soon);
    told.value();
}

}  // namespace

TEST_CASE("a rank that leaves while further lanes to it are being made is not taken for dead") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        event_loop loop(event_loop::virtual_time);
        line_options line;
        line.latency = std::chrono::microseconds(seed * seed * seed % 997);
        line.jitter = 3 * line.latency;
        simulated_network network(seed, line);
        memory_table table;
        context_options options;
        options.lanes = 8;
        options.small_bytes = 0;
        int told = 0;
        std::vector<std::unique_ptr<context>> homes;
        std::vector<task<>> all;
        for (rank me = 0; me < 3; ++me) {
            homes.push_back(std::make_unique<context>(loop, std::make_unique<simulated_transport>(loop, network), options));
            all.push_back(leave_soon(*homes.back(), test::world_of(me, 3), memory_store(table), told));
        }
        run(loop, when_all(std::move(all)));
        CHECK(told == 2);
    }
}

TEST_CASE("all ranks use rank 0's number of lanes, and a number that cannot be is refused") {
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    memory_table table;
    std::vector<std::unique_ptr<context>> homes;
    std::vector<task<>> all;
    const auto body = [](communicator& world) -> task<> {
        std::vector<float> data(100'000, 1);
        auto summing = world.all_reduce(data, sum);
        co_await std::move(summing);
        CHECK(data == std::vector<float>(100'000, 3));
        co_await sleep_for(1s);  // all lanes are there
    };
    const test::rank_body every = body;
    for (const auto& [me, lanes] : {std::pair(0, 3), {1, 1}, {2, 8}}) {
        context_options options;
        options.lanes = lanes;
        homes.push_back(std::make_unique<context>(loop, std::make_unique<memory_transport>(loop, network), options));
        all.push_back(test::detail::one_rank(*homes.back(), me, 3, memory_store(table), every));
    }
    run(loop, when_all(std::move(all)));

    for (const int lanes : {0, -1, 9}) {
        context_options options;
        options.lanes = lanes;
        context home(loop, std::make_unique<memory_transport>(loop, network), options);
        try {
            run(loop, home.join(test::world_of(0, 1), memory_store(table), "other"));
            FAIL("it joined");
        } catch (const failure& why) {
            CHECK(why.code() == error::invalid_argument);
            CHECK(contains(why.what(), fmt::format("lanes are 1 to 8, these are {}", lanes)));
        }
    }
}

TEST_CASE("a world that has no such rank is refused") {
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    memory_table table;
    for (const auto& [me, size] : {std::pair(2, 2), {-1, 2}, {0, 0}, {0, -1}}) {
        context home(loop, std::make_unique<memory_transport>(loop, network));
        try {
            run(loop, home.join(test::world_of(me, size), memory_store(table), "other"));
            FAIL("it joined");
        } catch (const failure& why) {
            CHECK(why.code() == error::invalid_argument);
            CHECK(why.details().cause == fmt::format("there is no rank {} of {}", me, size));
        }
    }
}

TEST_CASE("ranks that do not come are named on all ranks that came, when the time is over") {
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    memory_table table;
    context_options options;
    options.rendezvous = 10s;
    std::vector<std::unique_ptr<context>> homes;
    std::vector<std::string> endings(5);
    std::vector<task<>> all;
    for (const rank me : {0, 1, 3}) {
        homes.push_back(std::make_unique<context>(loop, std::make_unique<memory_transport>(loop, network), options));
        all.push_back(try_to_join(*homes.back(), test::world_of(me, 5), memory_store(table), endings));
    }
    const auto begin = loop.now();
    run(loop, when_all(std::move(all)));
    CHECK(loop.now() - begin < 12s);
    for (const rank me : {0, 1, 3}) {
        CAPTURE(endings[static_cast<std::size_t>(me)]);
        CHECK(contains(endings[static_cast<std::size_t>(me)], "2, 4"));
    }
}

TEST_CASE("a list of members by another build, with other costs or algorithms than this one knows, is refused") {
    const std::string refused = "the list of members in the store is not one of this version", known = to_string(cost_model{});
    for (const auto& [said, understood] : {std::pair<std::string, bool>{known + " ", true},
                                           {known + " tcp all_reduce 2: 0 ring", true},
                                           {known + " tcp all_reduce 2: 0 quicksand", false},
                                           {known, false},
                                           {"round=1e-06,message=1e-06 ", false}}) {
        CAPTURE(said);
        event_loop loop(event_loop::virtual_time);
        memory_network network;
        memory_table table;
        const auto meeting = memory_store(table);
        context home(loop, std::make_unique<memory_transport>(loop, network));
        try {
            run(loop, when_all(home.join(test::world_of(1, 2), memory_store(table), "job"), play_rank_0(*meeting, said)));
            FAIL("joined");  // no rank is at these addresses
        } catch (const failure& why) {
            CHECK((why.code() == error::protocol_error) == !understood);
            CHECK(contains(why.what(), refused) == !understood);
        }
    }
}

TEST_CASE("a rank that leaves before the others need it is named, whether they wait already or not") {
    for (const duration pause : {duration(0s), duration(50ms)}) {
        CAPTURE(pause.count());
        int told = 0;
        const auto body = [&](communicator& world) { return stay(world, pause, told); };
        run_ranks(4, body);
        CHECK(told == 3);
    }
}

TEST_CASE("an abort on one rank ends what is pending on all, with its reason and its rank") {
    int told = 0;
    const auto body = [&](communicator& world) { return wait_for_abort(world, told); };
    run_ranks(5, body);
    CHECK(told == 5);
}

TEST_CASE("closing a communicator that has failed tells the failure once more") {
    int told = 0;
    const auto body = [&](communicator& world) { return close_twice(world, told); };
    run_ranks(3, body);
    CHECK(told == 3);
}

TEST_CASE("a watch ends with the failure though nothing is pending, and with closed at the end") {
    int told = 0;
    const auto body = [&](communicator& world) { return watch_and_fail(world, told); };
    run_ranks(3, body);
    CHECK(told == 3);

    std::vector<future<>> watches;
    run_ranks(2, [&](communicator& world) {
        watches.push_back(world.watch());
        return meet(world);
    });
    for (auto& each : watches) {
        REQUIRE(each.ready());
        try {
            each.get();
            FAIL("a closed communicator is watched");
        } catch (const failure& why) {
            CHECK(why.code() == error::closed);
        }
    }
}

TEST_CASE("closing waits for the others only so long, and names them") {
    std::string ending;
    const auto body = [&](communicator& world) { return close_early(world, ending); };
    run_ranks(2, body);
    CHECK(contains(ending, "rank 0 did not say goodbye in time"));
}

TEST_CASE("a context may be destroyed before its communicators, and what was under way is told to the others as an abort") {
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    memory_table table;
    auto first = std::make_unique<context>(loop, std::make_unique<memory_transport>(loop, network));
    auto second = std::make_unique<context>(loop, std::make_unique<memory_transport>(loop, network));
    const auto join = [](context& home, world who, std::shared_ptr<store> meeting) -> task<std::unique_ptr<communicator>> {
        auto joining = home.join(who, std::move(meeting));
        co_return co_await std::move(joining);
    };
    auto both = run(
        loop, when_all(join(*first, test::world_of(0, 2), memory_store(table)), join(*second, test::world_of(1, 2), memory_store(table))));
    std::vector<float> data(100000, 1.0f);
    auto mine = std::get<0>(both)->all_reduce(data, sum);
    auto theirs = std::get<1>(both)->barrier();
    first.reset();
    REQUIRE(mine.ready());
    CHECK(run(loop, failure_of(std::move(mine))).code() == error::aborted);
    const failure told = run(loop, failure_of(std::move(theirs)));
    CHECK(told.code() == error::aborted);
    CHECK(contains(told.what(), "rank 0 dropped communicator world with operations under way"));
    auto late = std::get<0>(both)->barrier();
    REQUIRE(late.ready());
    CHECK_THROWS_AS(late.get(), failure);
}

TEST_CASE("a communicator that is dropped with operations under way aborts them on the others, and is not taken for dead") {
    int told = 0;
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    memory_table table;
    struct part {
        static task<> drop_or_wait(context& home, world who, std::shared_ptr<store> meeting, int& count) {
            auto joining = home.join(who, std::move(meeting));
            auto all = co_await std::move(joining);
            co_await all->barrier();
            std::vector<float> data(1000000, 1.0f);
            auto pending = all->all_reduce(data, sum);
            if (all->rank() == 1) {
                all.reset();
                const auto ended = co_await as_result(pending);
                CHECK_FALSE(ended.has_value());
                co_return;
            }
            const failure why = co_await failure_of(std::move(pending));
            CHECK(why.code() == error::aborted);
            CHECK(why.details().root == 1);
            ++count;
        }
    };
    std::vector<std::unique_ptr<context>> homes;
    std::vector<task<>> all;
    for (rank me = 0; me < 3; ++me) {
        homes.push_back(std::make_unique<context>(loop, std::make_unique<memory_transport>(loop, network)));
        all.push_back(part::drop_or_wait(*homes.back(), test::world_of(me, 3), memory_store(table), told));
    }
    run(loop, when_all(std::move(all)));
    CHECK(told == 2);
}

}  // namespace group_test
