#include "algorithm/estimate.hpp"

#include "proof/expected.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tutti;
using doctest::Approx;

namespace {

/// Hands on from rank to rank: two rounds at each, and as many hops as ranks.
schedule build_line(participant at) {
    schedule plan({.output = 1});
    if (at.me > 0) plan.round(recv(at.me - 1, output(0)));
    if (at.me + 1 < at.size) plan.round(send(at.me + 1, output(0)));
    return plan;
}
constexpr algorithm line{.kind = collective::broadcast, .name = "line", .build = build_line};
constexpr algorithm chain{.kind = collective::broadcast, .name = "chain", .build = build_line, .hops = [](int size) { return size - 1; }};

/// Returns costs with which a reader easily adds up the seconds.
cost_model simple() {
    cost_model costs;
    costs.round = 1;
    costs.message = costs.reduced_byte = 0;
    costs.moved_byte = 0.01;
    return costs;
}

host_map in_a_row(int hosts, int ranks) {
    std::vector<int> numbers;
    for (rank each = 0; each < hosts * ranks; ++each) numbers.push_back(each / ranks);
    return host_map(numbers);
}

}  // namespace

TEST_CASE("an algorithm takes the rounds of its longest chain, and the messages, bytes and reduced bytes of its busiest rank") {
    cost_model costs = simple();
    CHECK(estimate(line, 9, costs).seconds(100) == Approx(8 + 2 * 1));
    costs.message = 5;
    CHECK(estimate(line, 9, costs).seconds(100) == Approx(8 + 2 * (5 + 1)));
    CHECK(estimate(line, 2 * estimate::most_counted, costs).seconds(100) == Approx(2 + 2 * (5 + 1)));  // too many for the chain
    // A ring of four: 6 rounds, 12 messages, 12 quarters sent or received, 3 reduced.
    costs.reduced_byte = 0.1;
    CHECK(estimate(*find(collective::all_reduce, "ring"), 4, costs).seconds(400) == Approx(6 + 12 * 5 + 12 + 30));
    // A star's centre has two rounds with three messages each.
    CHECK(estimate(*find(collective::all_reduce, "star"), 4, costs).seconds(400) == Approx(2 + 6 * 5 + 6 * 4 + 3 * 40));
    // A copied byte counts as a reduced one: one block of four, beside three that are sent and three received.
    CHECK(estimate(*find(collective::all_to_all, "pairwise"), 4, costs).seconds(400) == Approx(3 + 6 * 5 + 6 + 10));
}

TEST_CASE("the first slice of a chain passes all its hops, and the others follow it") {
    CHECK(estimate(chain, 9, simple()).seconds(0) == Approx(8));
    CHECK(estimate(chain, 9, simple()).seconds(100) == Approx(8 * (1 + 1)));
    const double slice = default_slice_bytes, seconds = 0.01 * slice;
    CHECK(estimate(chain, 9, simple()).seconds(10 * slice) == Approx(8 * (1 + seconds) + 9 * 2 * seconds));
    CHECK(estimate(chain, 2, simple()).seconds(100) == estimate(line, 2, simple()).seconds(100));
    CHECK(estimate(chain, 1, simple()).seconds(100) == 0);
    CHECK(estimate(chain, 1000, simple()).seconds(0) == Approx(999));
}

TEST_CASE(
    "ranks that share cores take as long as their work on all cores, and the part of the busiest rank for which the others have none") {
    const algorithm& entry = *find(collective::all_to_all, "pairwise");
    cost_model costs = simple();
    costs.reduced_byte = 0.02;
    const auto takes = [&](const algorithm& which, int size, double cores, double bytes, const host_map& hosts = {}) {
        costs.cores = cores;
        return estimate(which, size, costs, hosts).seconds(bytes);
    };
    // 3 rounds, 2 x 3 blocks moved and one copied.
    CHECK(takes(entry, 4, 0, 400) == Approx(3 + 6 + 2));
    CHECK(takes(entry, 4, 4, 400) == takes(entry, 4, 0, 400));
    CHECK(takes(entry, 4, 2, 400) == Approx(4 * (3 + 6 + 2) / 2.0 + (3 + 6 + 2) / 2.0));
    CHECK(takes(entry, 4, 1, 400) == Approx(4 * (3 + 6 + 2)));
    // The ends of a line have one round, the ranks between them two.
    CHECK(takes(line, 4, 4, 0) == Approx(3));
    CHECK(takes(line, 4, 2, 0) == Approx(6 / 2.0 + 3 / 2.0));
    CHECK(takes(line, 4, 1, 0) == Approx(6));
    // Of two hosts with two cores each the fuller one counts. Rounds with another host leave the cores alone.
    costs.far_round = 0;
    const std::vector<int> fuller{0, 0, 0, 1};
    CHECK(takes(line, 4, 2, 0, host_map(fuller)) == Approx(4 / 2.0 + 2 / 2.0));
    CHECK(takes(line, 4, 2, 0, in_a_row(2, 2)) == Approx(2));
    // In large groups the ranks that are not counted work as those that are.
    const int size = 2 * estimate::most_counted;
    CHECK(takes(entry, size, 1, 0) == Approx(size * (size - 1)));
}

TEST_CASE("where ranks share cores a round takes a switch of threads or longer") {
    cost_model costs = simple();
    costs.round = 0;
    costs.cores = 2;
    const double switched = estimate(line, 3, costs).seconds(0);
    CHECK(switched > 1e-7);
    CHECK(switched < 1e-4);
    CHECK(estimate(line, 2, costs).seconds(0) == 0);
    costs.round = 1e-9;
    CHECK(estimate(line, 3, costs).seconds(0) == switched);
    costs.round = 1;
    CHECK(estimate(line, 3, costs).seconds(0) == Approx(4 / 2.0 + 2 / 2.0));
}

TEST_CASE("between hosts rounds and bytes have costs of their own, in small groups and large ones") {
    cost_model costs = simple();
    costs.far_round = 10;
    costs.far_byte = 0.1;
    // The busiest rank, at the end of a host, sends or receives once near and once far.
    CHECK(estimate(line, 6, costs, in_a_row(2, 3)).seconds(100) == Approx(4 + 10 + 1 + 10));
    CHECK(estimate(line, 2 * estimate::most_counted, costs, in_a_row(estimate::most_counted / 4, 8)).seconds(100) ==
          Approx(1 + 10 + 1 + 10));
    // Both send to the other, twice: a card does both at once.
    constexpr auto build_again = [](participant at) {
        schedule plan({.output = 1});
        for (int round = 0; round < 2; ++round) plan.round(send(1 - at.me, output(0)), recv(1 - at.me, output(0)));
        return plan;
    };
    constexpr algorithm again{.kind = collective::all_gather, .name = "again", .build = build_again};
    CHECK(estimate(again, 2, costs, in_a_row(2, 1)).seconds(100) == Approx(2 * (10 + 10)));
    CHECK(estimate(again, 2, costs).seconds(100) == Approx(2 * (1 + 2)));
}

TEST_CASE("a host's ranks share its card: what they send to others adds up") {
    // Everybody sends the whole to the same number on the other host.
    constexpr auto build_across = [](participant at) {
        schedule plan({.output = 1});
        const rank other = (at.me + at.size / 2) % at.size;
        plan.round(send(other, output(0)), recv_reduce(other, output(0)));
        return plan;
    };
    constexpr algorithm across{.kind = collective::all_reduce, .name = "across", .build = build_across};
    cost_model costs = simple();
    costs.far_round = 10;
    costs.far_byte = 0.1;
    for (const int ranks : {1, 2, 4, 48}) {
        CAPTURE(ranks);
        CHECK(estimate(across, 2 * ranks, costs, in_a_row(2, ranks)).seconds(1000) == Approx(10 + 100 * ranks));
    }
}

TEST_CASE("an estimate never falls with the bytes") {
    for (const algorithm& entry : catalogue())
        for (const int size : {1, 2, 3, 5, 8, 33, 100})
            for (const host_map& hosts : host_maps(entry, size)) {
                const estimate takes(entry, size, cost_model{}, hosts);
                double before = 0;
                for (double bytes = 0; bytes < 1e10; bytes = bytes * 1.7 + 1) {
                    CAPTURE(entry.name);
                    CAPTURE(size);
                    CAPTURE(hosts.count());
                    CAPTURE(bytes);
                    CHECK(takes.seconds(bytes) >= before * (1 - 1e-12));
                    before = takes.seconds(bytes);
                }
            }
}
