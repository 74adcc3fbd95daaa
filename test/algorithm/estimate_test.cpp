#include "algorithm/estimate.hpp"

#include "algorithm/expected.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using doctest::Approx;

namespace {

/// Hands on from rank to rank: two rounds at each, and as many hops as ranks.
schedule build_line(place at) {
    schedule plan({.output = 1});
    if (at.me > 0) plan.round(recv(at.me - 1, output(0)));
    if (at.me + 1 < at.size) plan.round(send(at.me + 1, output(0)));
    return plan;
}
constexpr algorithm line{collective::broadcast, "line", build_line, nullptr};

cost_model simple() {
    cost_model costs;
    costs.round = 1;
    costs.message = costs.reduced_byte = costs.cold_byte = 0;
    costs.sent_byte = 0.01;
    return costs;
}

}  // namespace

TEST_CASE("a line of ranks costs all its hops, and its further slices no hop more") {
    CHECK(estimate(line, 9, simple(), 1000).seconds(0) == Approx(8));
    CHECK(estimate(line, 9, simple(), 1000).seconds(100) == Approx(8 * (1 + 1)));
    // 10 slices: the first goes the whole way, the others follow, as fast as a rank in the middle receives and sends.
    CHECK(estimate(line, 9, simple(), 100).seconds(1000) == Approx(8 * (1 + 1) + 9 * 2));
}

TEST_CASE("in large groups it costs what its busiest rank does") {
    CHECK(estimate(line, estimate::most_chained + 1, simple(), 1000).seconds(100) == Approx(2 * (1 + 1)));
}

TEST_CASE("between hosts a line costs their hops and bytes, in small groups and large ones") {
    cost_model costs = simple();
    costs.far_round = 10;
    costs.far_byte = 0.1;
    const std::vector<int> numbers{0, 0, 0, 1, 1, 1};
    CHECK(estimate(line, 6, costs, 1000, host_map(numbers)).seconds(0) == Approx(4 + 10));
    CHECK(estimate(line, 6, costs, 1000, host_map(numbers)).seconds(100) == Approx(4 * (1 + 1) + 10 + 10));
    // The busiest rank, in the middle of a host's end: one round near, one far.
    std::vector<int> many;
    for (rank each = 0; each < 2 * estimate::most_chained; ++each) many.push_back(each / 8);
    CHECK(estimate(line, 2 * estimate::most_chained, costs, 1000, host_map(many)).seconds(100) == Approx(1 + 1 + 10 + 10));
}

TEST_CASE("a host's ranks share its card: what they send to others adds up") {
    // Everybody sends the whole to the same number on the other host.
    constexpr algorithm across{collective::all_reduce, "across",
                               [](place at) {
                                   schedule plan({.output = 1});
                                   const rank other = (at.me + at.size / 2) % at.size;
                                   plan.round(send(other, output(0)), recv_reduce(other, output(0)));
                                   return plan;
                               },
                               nullptr};
    cost_model costs = simple();
    costs.far_round = 10;
    costs.far_byte = 0.1;
    for (const int ranks : {1, 2, 4, 48}) {
        std::vector<int> numbers;
        for (rank each = 0; each < 2 * ranks; ++each) numbers.push_back(each / ranks);
        CAPTURE(ranks);
        CHECK(estimate(across, 2 * ranks, costs, 1000, host_map(numbers)).seconds(1000) == Approx(10 + 100 * ranks));
    }
}

TEST_CASE("an estimate never falls with the bytes, in slices or whole") {
    for (const algorithm& entry : catalogue())
        for (const int size : {1, 2, 3, 5, 8, 33, 100})
            for (const host_map& hosts : host_maps(entry, size)) {
                const estimate takes(entry, size, cost_model{}, default_slice_bytes, hosts);
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
