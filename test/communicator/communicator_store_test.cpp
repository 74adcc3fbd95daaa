#include <tutti/communicator_store.hpp>

#include "job.hpp"
#include "over_each.hpp"
#include "rendezvous/store_suite.hpp"
#include "support/failures.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"

#include <fmt/format.h>

namespace communicator_store_test {

using namespace tutti;
using namespace tutti::test;

namespace {

/// The promises of every store, as rank 0 and as another see them, in both orders; the rest of the ranks only close.
task<> keep_promises(communicator& world) {
    auto making = store_over(world);
    const std::unique_ptr<store> keys = co_await std::move(making);
    if (world.rank() == world.size() - 1) co_await store_promises(*keys, *keys);
    co_await world.barrier();
    if (world.rank() == 0) co_await store_limits(*keys);
    co_await world.barrier();
    if (world.rank() == world.size() - 1) co_await store_limits(*keys);
    co_await world.barrier();
    co_await closing(*keys);
}

/// Every rank counts, and waits for what the next one says, beside collectives and messages that take whatever comes.
task<> ask_at_once(communicator& world) {
    auto making = store_over(world);
    const std::unique_ptr<store> keys = co_await std::move(making);
    event_loop& loop = co_await this_loop;
    const rank me = world.rank(), next = (me + 1) % world.size();
    std::vector<int> got(1);
    auto anything = world.recv(got, any_source, any_tag);
    auto waiting = keys->get(fmt::format("said by {}", next), soon(loop));
    auto saying = keys->set(fmt::format("said by {}", me), fmt::format("{}", 10 * me), soon(loop));
    auto counting = keys->add("ranks", me, soon(loop));
    auto together = when_all(std::move(waiting), std::move(saying), std::move(counting));
    const auto all = co_await std::move(together);
    CHECK(std::get<0>(all).value() == fmt::format("{}", 10 * next));
    CHECK(std::get<1>(all).has_value());
    co_await world.barrier();
    const result<std::int64_t> sum = co_await keys->add("ranks", 0, soon(loop));
    CHECK(sum.value() == world.size() * (world.size() - 1) / 2);
    const std::vector<int> mine{me};
    co_await world.send(mine, next, 77);
    CHECK((co_await std::move(anything)).tag == 77);
    const result<> closed = co_await keys->close(soon(loop));
    CHECK(closed.has_value());
}

/// Waits for a key that no rank sets in time, and that a rank sets later.
task<> wait_in_vain(communicator& world) {
    auto making = store_over(world);
    const std::unique_ptr<store> keys = co_await std::move(making);
    event_loop& loop = co_await this_loop;
    auto waiting = missing_key(*keys, "store of world/1.0");
    co_await std::move(waiting);
    co_await world.barrier();
    if (world.rank() == 0) {
        const result<> set = co_await keys->set("nobody sets this", "but now", soon(loop));
        CHECK(set.has_value());
    }
    const result<std::string> late = co_await keys->get("nobody sets this", soon(loop));
    CHECK(late.value() == "but now");
    const result<> closed = co_await keys->close(soon(loop));
    CHECK(closed.has_value());
}

/// Values whose answers are on their way when their deadlines pass.
task<> ask_too_shortly(communicator& world, duration longest) {
    auto making = store_over(world);
    const std::unique_ptr<store> keys = co_await std::move(making);
    event_loop& loop = co_await this_loop;
    int in_time = 0, late = 0;
    for (int turn = 0; turn < 40; ++turn) {
        const std::string key = fmt::format("key {}", turn);
        if (world.rank() == 0) {
            const result<> set = co_await keys->set(key, std::string(turn % 2 == 0 ? 10 : 200'000, 'x'), soon(loop));
            CHECK(set.has_value());
        } else {
            const result<std::string> got = co_await keys->get(key, loop.now() + longest * turn / 40);
            (got ? in_time : late) += 1;
        }
        co_await world.barrier();
    }
    if (world.rank() != 0) CHECK(late > 0);
    if (world.rank() != 0) CHECK(in_time > 0);
    co_await closing(*keys);
}

/// One rank is gone without a word; the others' operations end.
task<> lose_one(communicator& world, rank lost, std::vector<error>& told) {
    auto making = store_over(world);
    std::unique_ptr<store> keys = co_await std::move(making);
    event_loop& loop = co_await this_loop;
    co_await world.barrier();
    if (world.rank() == lost) co_return;
    const result<std::string> got = co_await keys->get("what the lost one would say", loop.now() + std::chrono::hours(1));
    REQUIRE(!got);
    told.push_back(static_cast<error>(got.failure().code().value()));
}

/// Ranks of a job meet again over the store, in the reversed order.
task<> meet_again(context& home, rank me, int size, memory_table& table) {
    auto joining = home.join(world_of(me, size), memory_store(table));
    const auto all = co_await std::move(joining);
    auto making = store_over(*all);
    const std::shared_ptr<store> keys = co_await std::move(making);
    auto again = home.join(world_of(size - 1 - me, size), keys, "reversed");
    const auto reversed = co_await std::move(again);
    std::vector<int> data{me};
    co_await reversed->broadcast(data, 0);
    CHECK(data[0] == size - 1);
    co_await reversed->close();
    co_await closing(*keys);
    co_await all->close();
}

/// The keeper's close waits for the others, and goes on answering.
task<> close_early(communicator& world) {
    auto making = store_over(world);
    const std::unique_ptr<store> keys = co_await std::move(making);
    event_loop& loop = co_await this_loop;
    if (world.rank() != 0) {
        co_await sleep_for(std::chrono::seconds(world.rank()));
        const result<> set = co_await keys->set("late", "but in time", soon(loop));
        CHECK(set.has_value());
        if (world.rank() == 2) co_return;  // without a close, which its destructor does
    }
    const result<> closed = co_await keys->close(soon(loop));
    CHECK(closed.has_value());
}

task<> close_too_early(communicator& world) {
    auto making = store_over(world);
    const std::unique_ptr<store> keys = co_await std::move(making);
    event_loop& loop = co_await this_loop;
    if (world.rank() == 0) {
        const result<> closed = co_await keys->close(loop.now() + std::chrono::seconds(1));
        REQUIRE(!closed);
        CHECK(closed.failure().code() == error::timed_out);
        CHECK(says(closed.failure(), "ranks 1, 2 have not closed theirs"));
    }
    co_await world.barrier();
}

}  // namespace

TEST_CASE("a store over a communicator keeps the promises of every store") {
    for (const int size : {1, 2, 3, 5}) {
        CAPTURE(size);
        run_ranks(size, keep_promises);
    }
}

TEST_CASE("all ranks ask at once, beside collectives and messages of the communicator") {
    for (const int size : {1, 2, 3, 8}) {
        CAPTURE(size);
        run_ranks(size, ask_at_once);
    }
}

TEST_CASE("the same over every transport") { run_over_each(3, ask_at_once); }

TEST_CASE("a key that nobody sets in time is named, and may be asked for again") {
    for (const int size : {1, 3}) run_ranks(size, wait_in_vain);
}

TEST_CASE("answers that come too late are thrown away, long and short ones" * doctest::skip(test::sanitizer_wants_threads)) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        line_options line;
        line.latency = std::chrono::milliseconds(1);
        line.jitter = std::chrono::milliseconds(3);
        job ranks(seed, line);
        ranks.run(3, [](std::unique_ptr<communicator> all) -> task<> {
            communicator& world = *all;
            auto work = ask_too_shortly(world, std::chrono::milliseconds(20));
            co_await std::move(work);
            co_await world.close();
        });
    }
}

TEST_CASE("when a rank has gone the operations of those that the keeper answers end") {
    for (const rank lost : {0, 2}) {
        CAPTURE(lost);
        std::vector<error> told;
        run_ranks(3, [&](communicator& world) { return lose_one(world, lost, told); });
        CHECK(told.size() == 2);
    }
}

TEST_CASE("the keeper closes when all others have") { run_ranks(3, close_early); }

TEST_CASE("a keeper that closes too early names those that have not") { run_ranks(3, close_too_early); }

TEST_CASE("ranks join others over it") {
    constexpr int size = 4;
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    memory_table table;
    std::vector<std::unique_ptr<context>> homes;
    std::vector<task<>> all;
    for (rank me = 0; me < size; ++me) {
        homes.push_back(std::make_unique<context>(loop, std::make_unique<memory_transport>(loop, network)));
        all.push_back(meet_again(*homes.back(), me, size, table));
    }
    run(loop, when_all(std::move(all)));
}

}  // namespace communicator_store_test
