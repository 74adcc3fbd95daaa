// communicator::sync: the end of all that was called before.
#include "over_each.hpp"
#include "support/failures.hpp"
#include "support/ranks.hpp"

#include <algorithm>

namespace sync_test {

using namespace tutti;
using namespace tutti::test;

namespace {

bool all_ready(const std::vector<future<>>& some) {
    return std::all_of(some.begin(), some.end(), [](const future<>& each) { return each.ready(); });
}

/// Collectives of all lanes and messages between neighbours, under way together, before each of several syncs.
task<> call_and_sync(communicator& world, std::size_t longest) {
    const rank next = (world.rank() + 1) % world.size(), last = (world.rank() + world.size() - 1) % world.size();
    std::vector<std::vector<float>> data;
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, longest, std::size_t{7}}) data.emplace_back(count, 1.0f);
    std::vector<int> sent(longest, world.rank()), got(longest);
    for (int turn = 0; turn < 3; ++turn) {
        std::vector<future<>> called;
        for (auto& each : data) called.push_back(world.all_reduce(each, max));
        called.push_back(world.send(sent, next));
        auto received = world.recv(got, last);
        auto never = world.probe(last, 99);
        co_await world.sync();
        CHECK(all_ready(called));
        CHECK(received.ready());
        CHECK(!never.ready());
        CHECK(got == std::vector<int>(longest, last));
        co_await world.barrier();  // no rank has left when the probe is looked at
    }
}

}  // namespace

TEST_CASE("a sync ends when all that was called before it has ended") {
    for (const int size : {1, 2, 3, 5})
        for (const std::size_t longest : {1u, 3000u, 50'000u}) {
            CAPTURE(size);
            CAPTURE(longest);
            run_ranks(size, [&](communicator& world) { return call_and_sync(world, longest); }, slices_of(1024));
        }
}

TEST_CASE("the same over every transport") {
    run_over_each(2, [](communicator& world) { return call_and_sync(world, 100'000); });
}

TEST_CASE("a sync waits for nothing that is called after it, and for nothing where nothing is under way") {
    run_ranks(2, [](communicator& world) -> task<> {
        co_await world.sync();
        if (world.rank() == 1) {
            std::vector<int> data(3);
            auto early = world.recv(data, 0, 7);
            auto before = world.sync();
            auto late = world.recv(data, 0, 8);
            co_await std::move(before);
            CHECK(early.ready());
            CHECK(!late.ready());
            co_await world.barrier();
            co_await std::move(late);
        } else {
            const std::vector<int> data(3);
            co_await world.send(data, 1, 7);
            co_await world.barrier();
            co_await world.send(data, 1, 8);
        }
    });
}

TEST_CASE("several syncs end in the order of what they wait for, and one may be dropped") {
    run_ranks(2, [](communicator& world) -> task<> {
        std::vector<future<>> called, synced;
        for (int turn = 0; turn < 5; ++turn) {
            called.push_back(world.barrier());
            synced.push_back(world.sync());
        }
        synced.erase(synced.begin() + 1);
        for (auto& each : synced) co_await std::move(each);
        CHECK(all_ready(called));
    });
}

TEST_CASE("a sync can be cancelled, has a deadline like any wait, and waits for no call that was made later in an earlier place") {
    run_ranks(2, [](communicator& world) -> task<> {
        std::vector<int> data(1);
        auto never = world.recv(data, 1 - world.rank(), 5);
        auto cancelled = world.sync();
        cancelled.cancel();
        CHECK((co_await as_result(std::move(cancelled))).failure().code() == error::cancelled);
        std::optional<error> ended;
        try {
            co_await with_deadline(world.sync(), std::chrono::seconds(1));
        } catch (const failure& why) {
            ended = static_cast<error>(why.code().value());
        }
        CHECK(ended == error::timed_out);
        never = {};
        places mine = world.reserve(1);
        call_options next;
        next.place = &mine;
        auto before = world.sync();
        auto later = world.rank() == 0 ? world.barrier(next) : future<>();
        co_await std::move(before);
        CHECK(!later.ready());
        if (world.rank() == 0) co_await std::move(later);
        else co_await world.barrier(next);
    });
}

TEST_CASE("a receive that ends alone ends well for a sync, and a communicator that fails does not") {
    run_ranks(2, [](communicator& world) -> task<> {
        std::vector<int> data(1);
        call_options soon;
        soon.deadline = std::chrono::seconds(1);
        auto late = world.recv(data, 1 - world.rank(), 5, soon);
        co_await world.sync();
        REQUIRE(late.ready());
        CHECK((co_await as_result(std::move(late))).failure().code() == error::timed_out);
        co_await world.barrier();
        if (world.rank() == 1) {
            co_await sleep_for(std::chrono::seconds(1));
            world.abort("enough");
        }
        auto waits = world.recv(data, 1 - world.rank(), 6);
        for (int turn = 0; turn < 2; ++turn) {
            const auto ended = co_await as_result(world.sync());
            REQUIRE(!ended);
            CHECK(ended.failure().code() == error::aborted);
            CHECK(ended.failure().details().operation == "sync");
            CHECK(says(ended.failure(), "rank 1 aborted: enough"));
        }
    });
}

TEST_CASE("a sync of a closed communicator is told so") {
    run_ranks(1, [](communicator& world) -> task<> {
        co_await world.close();
        const auto ended = co_await as_result(world.sync());
        REQUIRE(!ended);
        CHECK(ended.failure().code() == error::closed);
    });
}

}  // namespace sync_test
