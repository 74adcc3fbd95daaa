#include "proof/simulate.hpp"

#include "support/line.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using doctest::Approx;

namespace {

constexpr network slow{.latency = 10, .bandwidth = 100, .overhead = 1, .reduce_bandwidth = 50};  // seconds, bytes

simulated run(const std::vector<schedule>& plans, double bytes, const network& over, double slice_bytes = 1e9) {
    simulate_options how;
    how.slice_bytes = slice_bytes;
    return simulate(
        static_cast<int>(plans.size()), [&](rank me) { return plans[static_cast<std::size_t>(me)]; }, bytes, over, how);
}

schedule one(const step& line) {
    schedule plan({.output = 1});
    plan.round(line);
    return plan;
}

/// Ranks 1 to n send to rank 0, all at once.
std::vector<schedule> funnel(int senders) {
    schedule root({.output = 1});
    std::vector<schedule> plans(1);
    for (rank peer = 1; peer <= senders; ++peer) {
        root.add(recv_reduce(peer, output(0)));
        plans.push_back(one(send(0, output(0))));
    }
    root.end_round();
    plans[0] = root;
    return plans;
}

}  // namespace

TEST_CASE("one message takes its latency, its overhead and its bytes, once") {
    CHECK(run({one(send(1, output(0))), one(recv(0, output(0)))}, 300, slow).seconds == Approx(10 + 1 + 3));
    CHECK(run({one(send(1, output(0))), one(recv(0, output(0)))}, 0, slow).seconds == Approx(10 + 1));
}

TEST_CASE("what arrives is combined afterwards") {
    CHECK(run({one(send(1, output(0))), one(recv_reduce(0, output(0)))}, 300, slow).seconds == Approx(10 + 1 + 3 + 6));
}

TEST_CASE("a card receives one message after the other, and the sums follow when all have come") {
    CHECK(run(funnel(3), 100, slow).seconds == Approx(10 + 3 * (1 + 1) + 3 * 2));
}

TEST_CASE("a card sends one message after the other") {
    schedule root({.output = 1});
    for (rank peer = 1; peer <= 3; ++peer) root.add(send(peer, output(0)));
    root.end_round();
    CHECK(run({root, one(recv(0, output(0))), one(recv(0, output(0))), one(recv(0, output(0)))}, 100, slow).seconds == Approx(3 * 2 + 10));
}

TEST_CASE("a card sends and receives at the same time") {
    schedule left({.output = 2}), right({.output = 2});
    left.round(send(1, output(0)), recv(1, output(1)));
    right.round(send(0, output(1)), recv(0, output(0)));
    const simulated found = run({left, right}, 400, slow);
    CHECK(found.seconds == Approx(10 + 1 + 2));
    CHECK(found.roles == 1);
}

TEST_CASE("along a line whole messages go hop by hop, slices follow each other") {
    const network free_of_overhead{.latency = 10, .bandwidth = 100};
    CHECK(run(test::line(4), 400, free_of_overhead).seconds == Approx(3 * (10 + 4)));
    const simulated sliced = run(test::line(4), 400, free_of_overhead, 100);
    CHECK(sliced.slices == 4);
    CHECK(sliced.transfers == 3 * 4);
    CHECK(sliced.seconds == Approx(3 * (10 + 1) + 3 * 1));
}

TEST_CASE("a lane's slices leave in order, and lanes take turns") {
    // Rank 0 sends two slices to each of two peers: 1, 2, 1, 2.
    schedule root({.output = 1});
    root.round(send(1, output(0)), send(2, output(0)));
    const network over{.latency = 10, .bandwidth = 100};
    CHECK(run({root, one(recv(0, output(0))), one(recv(0, output(0)))}, 200, over, 100).seconds == Approx(4 + 10));
}

TEST_CASE("a copy takes the time of its bytes, and alone none of the network's") {
    schedule plan({.input = 1, .output = 1});
    plan.round(copy(output(0), input(0)));
    CHECK(run({plan}, 100, slow).seconds == Approx(2));
    CHECK(run({schedule({.output = 1})}, 100, slow).seconds == 0);
}

TEST_CASE("ranks that wait for each other are told, not simulated") {
    schedule left({.output = 2}), right({.output = 2});
    left.round(recv(1, output(1)));
    left.round(send(1, output(0)));
    right.round(recv(0, output(0)));
    right.round(send(0, output(1)));
    CHECK(run({left, right}, 1, slow).refused == "rank 0 waits for ever in round 0");
}

TEST_CASE("what is too large is refused, with the slice that would do") {
    const std::vector<schedule> plans = test::line(3);
    const auto build = [&](rank me) { return plans[static_cast<std::size_t>(me)]; };
    simulate_options how;
    how.slice_bytes = 1;
    how.transfers = 10;
    const simulated found = simulate(3, build, 64, slow, how);
    CHECK(found.refused == "128 transfers of 3 unlike ranks are too many to simulate");
    CHECK(found.coarser_slice_bytes == 16);
    how.slice_bytes = 16;
    CHECK(simulate(3, build, 64, slow, how).refused.empty());
    how.transfers = 1;
    CHECK(simulate(3, build, 64, slow, how).coarser_slice_bytes == 0);
    how.looking.steps = 1;
    CHECK(simulate(3, build, 64, slow, how).refused.starts_with("the plans of 3 ranks have too many"));
}
