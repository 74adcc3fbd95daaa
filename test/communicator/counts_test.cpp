// Collectives with a count for each rank: what happens when the ranks' counts contradict each other, and that the caller's list may go.
#include "support/ranks.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace tutti;
using test::run_ranks;

namespace {

using counts = std::vector<std::size_t>;

struct row {
    const char* cause;  // a part of it
    counts send[3];     // by rank
    counts recv[3];
};

const row contradictions[] = {
    {"rank 1 expects 4 elements from rank 0, which sends 3", {{1, 3, 2}, {0, 0, 0}, {0, 0, 0}}, {{1, 0, 0}, {4, 0, 0}, {2, 0, 0}}},
    {"rank 2 expects 0 elements from rank 1, which sends 1", {{0, 0, 0}, {0, 0, 1}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
    {"rank 0 expects 7 elements from rank 2, which sends 0", {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, {{0, 0, 7}, {0, 0, 0}, {0, 0, 0}}},
};

std::size_t sum_of(const counts& all) { return all[0] + all[1] + all[2]; }

task<> contradict(communicator& world, const row& one, int& told) {
    const auto me = static_cast<std::size_t>(world.rank());
    std::vector<std::int32_t> from(sum_of(one.send[me])), to(sum_of(one.recv[me]));
    auto ended = co_await as_result(world.all_to_all_v(from, to, one.send[me], one.recv[me]));
    // Whoever has all it wants may end before the others find out.
    if (ended) ended = co_await as_result(world.barrier());
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::mismatch);
    const std::string cause = ended.failure().details().cause;
    CAPTURE(cause);
    CHECK(cause.starts_with(one.cause));
    CHECK(cause.find("all_to_all_v i32") != std::string::npos);
    ++told;
}

/// The sums are equal, and so is everybody's own count.
task<> give_other_lists(communicator& world, int which, int& told) {
    const counts mine = world.rank() == 2 ? counts{3, 4, 5} : counts{3, 5, 4};
    std::vector<float> part(mine[static_cast<std::size_t>(world.rank())]), all(12);
    const auto call = [&]() -> future<> {
        switch (which) {
            case 0: return world.all_gather_v(part, all, mine);
            case 1: return world.reduce_scatter_v(all, part, mine, sum);
            case 2: return world.gather_v(part, all, mine, 0);
            default: return world.scatter_v(all, part, mine, 0);
        }
    };
    auto begun = call();
    auto ended = co_await as_result(std::move(begun));
    if (ended) ended = co_await as_result(world.barrier());
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::mismatch);
    CHECK(ended.failure().details().cause.find("count 12") != std::string::npos);
    CHECK(ended.failure().details().cause.find(" counts #") != std::string::npos);
    ++told;
}

task<> forget_lists(communicator& world) {
    const auto me = static_cast<std::size_t>(world.rank());
    counts mine{0, 70'000, 3}, send, recv;
    for (std::size_t peer = 0; peer < 3; ++peer) send.push_back(me * 10 + peer), recv.push_back(peer * 10 + me);
    std::vector<std::int32_t> part(mine[me], static_cast<std::int32_t>(me)), all(70'003), out(sum_of(send), world.rank()),
        in(sum_of(recv), -1);
    auto gathered = world.all_gather_v(part, all, mine);
    auto exchanged = world.all_to_all_v(out, in, send, recv);
    mine.assign(3, 1);
    send.assign(3, 5);
    recv = send;
    co_await std::move(gathered);
    co_await std::move(exchanged);
    CHECK(std::count(all.begin(), all.end(), 1) == 70'000);
    CHECK(std::count(all.begin(), all.end(), 2) == 3);
    for (std::int32_t peer = 0; peer < 3; ++peer) CHECK(std::count(in.begin(), in.end(), peer) == peer * 10 + world.rank());
}

}  // namespace

TEST_CASE("an all_to_all_v whose sender and receiver disagree names both and both counts, on all ranks") {
    for (const row& each : contradictions) {
        CAPTURE(each.cause);
        int told = 0;
        run_ranks(3, [&](communicator& world) { return contradict(world, each, told); });
        CHECK(told == 3);
    }
}

TEST_CASE("lists of counts that differ are a mismatch, also when their sums do not") {
    for (int which = 0; which < 4; ++which) {
        CAPTURE(which);
        int told = 0;
        run_ranks(3, [&](communicator& world) { return give_other_lists(world, which, told); });
        CHECK(told == 3);
    }
}

TEST_CASE("a list of counts may change as soon as the call has returned") { run_ranks(3, forget_lists); }
