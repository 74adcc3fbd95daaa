// All ranks learn what happens to one of them, along a tree in which other ranks may be missing already.
#include "group/control.hpp"
#include "communicator/job.hpp"
#include "runtime/background.hpp"
#include "transport/memory_link.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace control_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::among;
using test::job;

namespace {

/// A rank that waits for nothing else hears the failure.
task<> hear(communicator& all, error code, rank root, int& told) {
    auto watching = all.watch();
    auto ended = co_await as_result(std::move(watching));
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == code);
    CHECK(ended.failure().details().root == root);
    ++told;
}

task<> hear_of(std::unique_ptr<communicator> all, rank victim, int& told) {
    auto hearing = hear(*all, error::peer_died, victim, told);
    if (all->rank() == victim) co_await sleep_for(3s);
    else co_await std::move(hearing);
}

task<> kill_soon(simulated_network& network, rank victim) {
    co_await sleep_for(1s);
    network.kill(victim);
}

/// Some leave without a word to wait for; later one aborts, or all close.
task<> outlive(std::unique_ptr<communicator> all, const std::vector<rank>& leave, bool abort, rank last, int& told) {
    co_await sleep_for(1s);
    const rank me = all->rank();
    if (among(leave, me)) co_return;
    co_await sleep_for(1s);
    if (abort) {
        if (me == last) all->abort("enough");
        auto hearing = hear(*all, error::aborted, last, told);
        co_await std::move(hearing);
        co_return;
    }
    auto closing = all->close(1s);
    co_await std::move(closing);
    ++told;
}

/// Everybody goes at its time, without waiting for the others or with that. Rank 0 waits.
task<> leave_at(std::unique_ptr<communicator> all, duration when, bool waits, int& closed) {
    co_await sleep_for(when);
    if (!waits && all->rank() != 0) co_return;
    auto closing = all->close(10s);
    co_await std::move(closing);
    ++closed;
}

task<> close_beside_silent(std::unique_ptr<communicator> all, simulated_network& network, std::vector<std::string>& told) {
    co_await sleep_until(time_point(1s));
    if (all->rank() == 0) test::silence_rank_1(network);
    if (all->rank() == 1) {
        co_await sleep_for(20s);
        co_return;
    }
    try {
        auto closing = all->close(2s);
        co_await std::move(closing);
    } catch (const failure& why) {
        told[static_cast<std::size_t>(all->rank())] = why.details().cause;
    }
}

task<> close_in_turn(std::unique_ptr<communicator> all, duration each, int& closed) {
    co_await sleep_until(time_point(1s) + each * all->rank());
    auto closing = all->close(20s);
    co_await std::move(closing);
    ++closed;
}

/// Rank 0 leaves, and waits for the others, who call one thing more.
task<> leave_early(std::unique_ptr<communicator> all, std::size_t count, duration first, std::vector<std::string>& told) {
    std::vector<float> data(count);
    auto one = all->barrier();
    co_await one;
    if (all->rank() == 0) {
        try {
            auto closing = all->close(30s);
            co_await std::move(closing);
        } catch (const failure&) {}
        co_return;
    }
    co_await sleep_for(first);
    auto other = all->all_reduce(data, sum);
    const auto ended = co_await as_result(std::move(other));
    REQUIRE_FALSE(ended);
    told[static_cast<std::size_t>(all->rank())] = ended.failure().what();
}

/// All but `odd` call a broadcast at last, in which no rank waits for a leaf; then all close.
task<> leave_out_the_last(std::unique_ptr<communicator> all, rank odd, std::vector<std::string>& told) {
    std::vector<int> data(10);
    auto one = all->all_reduce(data, sum);
    co_await one;
    if (all->rank() != odd) {
        auto other = all->broadcast(data, 0);
        co_await other;
    }
    auto& mine = told[static_cast<std::size_t>(all->rank())];
    mine = "closed well";
    try {
        auto closing = all->close(5s);
        co_await std::move(closing);
    } catch (const failure& why) {
        mine = why.what();
    }
}

/// Joins; tells how that ended.
task<> try_to_join(context& home, world who, std::shared_ptr<store> meeting, std::string& ending) {
    auto joining = home.join(who, std::move(meeting));
    try {
        (void)co_await std::move(joining);
        ending = "joined";
    } catch (const failure& why) {
        ending = why.what();
    }
}

task<> pass(duration time) { co_await sleep_for(time); }

/// Notes what it hears of barriers and failures.
class listening final : public control_observer {
public:
    void heard_failure(report why) noexcept override { failure = std::move(why); }
    void heard_goodbye(rank) noexcept override {}
    void heard_entered(rank, std::uint64_t, duration) noexcept override { ++entered; }
    void heard_answer(rank, std::uint64_t) noexcept override {}
    void heard_release(std::uint64_t) noexcept override {}
    void heard_gone(rank) noexcept override {}
    void orphaned() noexcept override {}
    void heard_called(rank, std::uint64_t, const call_signature&, std::string_view) noexcept override {}
    void heard_waiting_on_device(rank, std::uint64_t, const call_signature&) noexcept override {}

    std::size_t entered = 0;
    std::optional<report> failure;
};

}  // namespace

TEST_CASE("a rank that comes to more barriers than may be under way is given up, on rank 0 and on the way there") {
    struct row {
        rank parent, child;
        std::size_t heard;  // by the parent's observer: only rank 0 is told
    };
    for (const row& each : {row{0, 1, control::most_barriers}, row{1, 3, 0}}) {
        CAPTURE(each.parent);
        event_loop loop(event_loop::virtual_time);
        listening above, below;
        control parent(loop, each.parent, 4, 7, above), child(loop, each.child, 4, 7, below);
        auto [down, up] = make_memory_links({loop, "parent"}, {loop, "child"}, 64 * KiB);
        parent.attach(each.child, std::move(down));
        child.attach(each.parent, std::move(up));
        for (std::uint64_t number = 0; number < control::most_barriers; ++number) child.say_entered(number, 1h);
        run(loop, pass(1s));
        CHECK(above.entered == each.heard);
        CHECK_FALSE(above.failure);
        child.say_entered(control::most_barriers, 1h);
        run(loop, pass(1s));
        CHECK(above.entered == each.heard);
        REQUIRE(above.failure);
        CHECK(above.failure->root == each.child);
    }
}

TEST_CASE("a rank that dies while all wait for nothing is named by all others") {
    for (const int size : {2, 3, 4, 7, 8, 20})
        for (rank victim = 0; victim < size; ++victim) {
            CAPTURE(size);
            CAPTURE(victim);
            job here;
            background others(here.loop);
            others.start(kill_soon(here.network, victim));
            int told = 0;
            here.run(size, [&](std::unique_ptr<communicator> all) { return hear_of(std::move(all), victim, told); });
            CHECK(told == size - 1);
        }
}

TEST_CASE("what a rank says reaches all that are left, whoever has left before without waiting") {
    const struct {
        int size;
        std::vector<rank> leave;
    } rows[] = {{3, {1}},     {4, {1}},        {16, {3}},           {16, {1}},  {16, {1, 2}},
                {16, {1, 3}}, {16, {1, 3, 7}}, {16, {2, 5, 12, 1}}, {16, {15}}, {16, {1, 2, 3, 4, 5, 6}}};
    for (const auto& [size, leave] : rows)
        for (const bool abort : {true, false})
            for (rank last = 0; last < size; ++last) {
                if (among(leave, last)) continue;
                CAPTURE(size);
                CAPTURE(leave.size());
                CAPTURE(leave[0]);
                CAPTURE(last);
                CAPTURE(abort);
                job here;
                int told = 0;
                here.run(size, [&](std::unique_ptr<communicator> all) { return outlive(std::move(all), leave, abort, last, told); });
                CHECK(told == size - static_cast<int>(leave.size()));
                if (!abort) break;
            }
}

TEST_CASE("ranks that leave at any time, waiting for the others or not, keep nobody from closing") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random{seed};
        job here(seed, test::uneven_line(random), seed % 2 == 0);
        const int size = 2 + static_cast<int>(random() % 16);
        const auto within = std::chrono::microseconds(1 + random() % 20'000);
        int closed = 0, waiting = 0;
        here.run(size, [&](std::unique_ptr<communicator> all) {
            const bool waits = random() % 2 == 0;
            waiting += waits || all->rank() == 0;
            return leave_at(std::move(all), within * static_cast<int>(random() % 100) / 100, waits, closed);
        });
        CHECK(closed == waiting);
    }
}

TEST_CASE("closing names the rank that is not heard, and apart from it those behind it") {
    job here;
    std::vector<std::string> told(8);
    here.run(8, [&](std::unique_ptr<communicator> all) { return close_beside_silent(std::move(all), here.network, told); });
    CHECK(told[0] == "rank 1 did not say goodbye in time, nor did ranks 3, 4, 7, by way of others that are missing");
    CHECK(told[6] == told[0]);
    CHECK(told[7] == "rank 1 did not say goodbye in time, nor did ranks 0, 2, 4, 5, 6, by way of others that are missing");
}

TEST_CASE("who calls something when another has left already, but not gone, hears at once that it has") {
    for (const int size : {2, 3, 5})
        for (const std::size_t count : {std::size_t{1}, std::size_t{1} << 20})
            for (const duration first : {0us, 10us, 50us, 100us, 150us, 200us, 500us, 10'000us}) {
                CAPTURE(size);
                CAPTURE(count);
                CAPTURE(first);
                job here;
                std::vector<std::string> told(static_cast<std::size_t>(size));
                here.run(size, [&](std::unique_ptr<communicator> all) { return leave_early(std::move(all), count, first, told); });
                CHECK(here.loop.now() < time_point(3s));
                for (std::size_t me = 1; me < told.size(); ++me) CHECK(told[me].find("rank 0 left while rank") != std::string::npos);
            }
}

TEST_CASE("who leaves out a last call that nobody waits for is found when all close") {
    for (const auto& [size, odd] : {std::pair(2, 1), std::pair(3, 1), std::pair(3, 2)}) {
        CAPTURE(size);
        job here;
        std::vector<std::string> told(static_cast<std::size_t>(size));
        here.run(size, [&](std::unique_ptr<communicator> all) { return leave_out_the_last(std::move(all), odd, told); });
        for (int me = 0; me < size; ++me)
            CHECK(
                told[static_cast<std::size_t>(me)] ==
                (me == 0 ? "" : "rank " + std::to_string(me) + ": close: ") +
                    "rank 0 had called 2 collectives, with those of splits and reducers, when it closed its communicator, rank " +
                    std::to_string(odd) + " 1");
    }
}

TEST_CASE("nobody closes before what it passes on has left") {
    for (const std::size_t window : {128u, 512u, 4096u}) {
        CAPTURE(window);
        line_options line;
        line.window_bytes = window;
        line.latency = 1ms;
        job here(1, line);
        int closed = 0;
        here.run(32,
                 [&](std::unique_ptr<communicator> all) { return close_in_turn(std::move(all), std::chrono::microseconds(100), closed); });
        CHECK(closed == 32);
    }
}

TEST_CASE("an orphan far away is no rank that has left") {
    line_options line;
    line.latency = 400ms;
    job here(1, line);
    int closed = 0;
    here.run(16, [&](std::unique_ptr<communicator> all) {
        const bool waits = all->rank() != 1;
        return leave_at(std::move(all), 1s, waits, closed);
    });
    CHECK(closed == 15);
}

TEST_CASE("a rank that cannot be reached from its parent is told apart from those that come by way of it") {
    event_loop loop(event_loop::virtual_time);
    simulated_network network(1);
    line_options silence;
    silence.latency = 1h;
    network.set(1, 0, silence);
    memory_table table;
    context_options options;
    options.rendezvous = 10s;
    std::vector<std::unique_ptr<context>> homes;
    std::vector<std::string> endings(8);
    std::vector<task<>> all;
    for (rank me = 0; me < 8; ++me) {
        homes.push_back(std::make_unique<context>(loop, std::make_unique<simulated_transport>(loop, network), options));
        all.push_back(try_to_join(*homes.back(), test::world_of(me, 8), memory_store(table), endings[static_cast<std::size_t>(me)]));
    }
    const time_point begin = loop.now();
    run(loop, when_all(std::move(all)));
    CHECK(loop.now() - begin < 12s);
    for (const rank me : {0, 2, 5, 6}) {
        CAPTURE(endings[static_cast<std::size_t>(me)]);
        CHECK(endings[static_cast<std::size_t>(me)].find(
                  "rank 1 of 8 did not come in time, nor did ranks 3, 4, 7, by way of others that are missing") != std::string::npos);
    }
    for (const rank me : {1, 3, 4, 7}) {
        CAPTURE(endings[static_cast<std::size_t>(me)]);
        CHECK(endings[static_cast<std::size_t>(me)].find("rank 0 could not be reached") != std::string::npos);
    }
}

}  // namespace control_test
