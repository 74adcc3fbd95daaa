#include "support/ranks.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace tutti;
using test::run_ranks;

namespace {

task<> pass_around(communicator& world) {
    const int next = (world.rank() + 1) % world.size(), previous = (world.rank() + world.size() - 1) % world.size();
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{200'000}}) {
        std::vector<float> mine(count, static_cast<float>(world.rank())), theirs(count);
        auto sent = world.send(mine, next);
        auto received = world.recv(theirs, previous);
        co_await std::move(received);
        co_await std::move(sent);
        CHECK(theirs == std::vector<float>(count, static_cast<float>(previous)));
    }
}

task<> keep_order(communicator& world) {
    constexpr int messages = 200;
    std::vector<std::vector<int>> data(messages, std::vector<int>(100));
    std::vector<future<>> begun;
    for (int index = 0; index < messages; ++index) {
        auto& each = data[static_cast<std::size_t>(index)];
        if (world.rank() == 0) std::iota(each.begin(), each.end(), index);
        begun.push_back(world.rank() == 0 ? world.send(each, 1) : world.recv(each, 0));
        if (index % 10 == 0) co_await world.barrier();  // collectives in between change nothing
    }
    for (auto& each : begun) co_await std::move(each);
    for (int index = 0; index < messages; ++index) CHECK(data[static_cast<std::size_t>(index)].back() == index + 99);
}

task<> exchange_at_once(communicator& world) {
    // Everybody with everybody, both directions of each pair at once.
    const auto size = static_cast<std::size_t>(world.size());
    std::vector<std::vector<int>> out(size), in(size);
    std::vector<future<>> begun;
    for (rank peer = 0; peer < world.size(); ++peer) {
        if (peer == world.rank()) continue;
        const auto which = static_cast<std::size_t>(peer);
        out[which].assign(10'000, 100 * world.rank() + peer);
        in[which].resize(10'000);
        begun.push_back(world.recv(in[which], peer));
        begun.push_back(world.send(out[which], peer));
    }
    for (auto& each : begun) co_await std::move(each);
    for (rank peer = 0; peer < world.size(); ++peer)
        if (peer != world.rank()) CHECK(in[static_cast<std::size_t>(peer)] == std::vector<int>(10'000, 100 * peer + world.rank()));
}

task<> disagree(communicator& world) {
    std::vector<float> few(3), more(4);
    auto begun = world.rank() == 0 ? world.send(few, 1) : world.rank() == 1 ? world.recv(more, 0) : world.barrier();
    auto ended = co_await as_result(std::move(begun));
    if (world.rank() == 0) {
        auto failed = world.watch();
        ended = co_await as_result(std::move(failed));
    }
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::mismatch);
    CHECK(ended.failure().details().cause == "rank 1 waits for f32 count 4 from rank 0, which called send f32 count 3 (message #1)");
}

}  // namespace

TEST_CASE("messages of all lengths pass around a ring") {
    for (const int size : {2, 3, 7}) {
        CAPTURE(size);
        run_ranks(size, pass_around);
    }
}

TEST_CASE("messages between two ranks keep the order of their calls") { run_ranks(2, keep_order); }

TEST_CASE("all pairs of ranks exchange messages at once") { run_ranks(6, exchange_at_once); }

TEST_CASE("a receive that does not fit its send fails all ranks, naming both calls") { run_ranks(3, disagree); }
