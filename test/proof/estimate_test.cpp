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
constexpr algorithm line{collective::broadcast, "line", build_line, nullptr};

cost_model simple() {
    cost_model costs;
    costs.round = 1;
    costs.message = costs.packet = costs.reduced_byte = costs.spread_byte = 0;
    costs.moved_byte = 0.01;
    costs.crowded = 1;
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

TEST_CASE("links but one make the first slice's messages dearer, in small groups and large ones") {
    cost_model costs = simple();
    costs.link = 0.5;
    CHECK(estimate(line, 2, costs, 100).seconds(1000) == estimate(line, 2, simple(), 100).seconds(1000));
    for (const double bytes : {0., 1000.}) {
        CHECK(estimate(line, 9, costs, 100).seconds(bytes) == Approx(estimate(line, 9, simple(), 100).seconds(bytes) + 2 * 7 * 0.5));
        const int large = estimate::most_chained + 1;
        CHECK(estimate(line, large, costs, 100).seconds(bytes) == Approx(estimate(line, large, simple(), 100).seconds(bytes) + 2 * 0.5));
    }
}

TEST_CASE("a chain through a large group has as many far hops as there are neighbours on different hosts") {
    cost_model costs = simple();
    costs.far_round = 10;
    const int size = 2 * estimate::most_chained;
    std::vector<int> in_a_row, in_turns;
    for (rank each = 0; each < size; ++each) {
        in_a_row.push_back(each / 8);
        in_turns.push_back(each % 2);
    }
    const algorithm& chain = *find(collective::scan, "chain");
    const int far = size / 8 - 1;
    CHECK(estimate(chain, size, costs, 1000).seconds(0) == Approx(size - 1));
    CHECK(estimate(chain, size, costs, 1000, host_map(in_a_row)).seconds(0) == Approx(size - 1 - far + 10 * far));
    CHECK(estimate(chain, size, costs, 1000, host_map(in_turns)).seconds(0) == Approx(10 * (size - 1)));
}

TEST_CASE("where a plan comes back to a lane each segment waits for the one before, and its hops are hidden by its other slices only") {
    // Both send to the other, twice.
    constexpr algorithm again{collective::all_gather, "again",
                              [](participant at) {
                                  schedule plan({.output = 1});
                                  for (int round = 0; round < 2; ++round)
                                      plan.round(send(1 - at.me, output(0)), recv(1 - at.me, output(0)));
                                  return plan;
                              },
                              nullptr};
    cost_model costs = simple();
    // Each slice of 100 bytes moves 4 times 1 second; of the two hops the second holds up the next slice.
    CHECK(estimate(again, 2, costs, 1000).seconds(100) == Approx(4 + 2));
    CHECK(estimate(again, 2, costs, 100).seconds(1000) == Approx(4 + 2 + 9 * (4 + 1)));
    // Between hosts a card does both at once, and 16 slices are a segment: 15 of them take longer than a hop, or not.
    costs.far_byte = 0.01;
    const std::vector<int> numbers{0, 1};
    for (const double hop : {10.0, 100.0}) {
        costs.far_round = hop;
        CHECK(estimate(again, 2, costs, 100, host_map(numbers)).seconds(1600) == Approx(2 * hop + 16 * 2));
        CHECK(estimate(again, 2, costs, 100, host_map(numbers)).seconds(4800) ==
              Approx(2 * hop + 48 * 2 + 2 * std::max(0.0, hop - 15 * 2)));
    }
}

TEST_CASE("ranks that share cores take as long as the work on the busiest core, and the more the longer the chain") {
    // A round with each other rank: nobody waits without work of his own.
    const algorithm& entry = *find(collective::all_to_all, "pairwise");
    cost_model costs = simple();
    costs.reduced_byte = 0.02;
    costs.uneven = 1;
    const auto takes = [&](int size, double cores, double bytes, const host_map& hosts = {}) {
        costs.cores = cores;
        return estimate(entry, size, costs, 1000, hosts).seconds(bytes);
    };
    // 3 hops, 2 x 3 blocks moved and one copied.
    CHECK(takes(4, 0, 400) == Approx(3 + 6 + 2));
    CHECK(takes(4, 4, 400) == takes(4, 0, 400));
    CHECK(takes(4, 2, 400) == Approx(4 * (3 + 6 + 2) / 2.0 + (3 + 6 + 2) / 2.0));
    CHECK(takes(4, 1, 400) == Approx(4 * (3 + 6 + 2)));
    // Where ranks stay on their cores neighbours share one. Of a line the middle ones have two hops' work, the ends one.
    const auto line_takes = [&](double cores) {
        costs.cores = cores;
        return estimate(line, 4, costs, 1000).seconds(0);
    };
    CHECK(line_takes(4) == Approx(3));
    CHECK(line_takes(2) == Approx(2 + 1 + 3 / 2.0));
    CHECK(line_takes(1) == Approx(6));
    CHECK(line_takes(3) == Approx(2 + 4 * (4 / 3.0 - 1) / 3 + 3 * 2 / 3.0));  // they move: with a third of what the other three have
    // A root that sends a block to each of three, and copies one, shares a core with one of them; the chain is its sends and a receipt.
    const auto root_takes = [&](double uneven) {
        costs.cores = 2;
        costs.uneven = uneven;
        return estimate(*find(collective::scatter, "direct"), 4, costs, 1000).seconds(400);
    };
    CHECK(root_takes(1) == Approx((1 + 3 + 2) + (1 + 1) + (1 + 3 + 1) / 2.0));
    CHECK(root_takes(0) == Approx((4 + 6 + 2) / 2.0 + (1 + 3 + 1) / 2.0));
    CHECK(root_takes(0.25) == Approx(root_takes(0) + (root_takes(1) - root_takes(0)) / 4));
    costs.uneven = 1;
    // A rank that has half a core to itself takes twice as long.
    costs.cores = 0.5;
    costs.far_round = 0;
    const std::vector<int> apart{0, 1};
    CHECK(estimate(line, 2, costs, 1000, host_map(apart)).seconds(0) == Approx(2));
    // Five ranks on two cores and a half are not two and two.
    costs.far_round = 1;
    costs.cores = 2.5;
    CHECK(estimate(line, 5, costs, 1000).seconds(0) == Approx(2 + 6 * (2 - 1) / 4.0 + 4 * (1 - 1 / 2.5)));
    // Of two hosts with two cores each the fuller one counts.
    costs.far_round = 1;
    costs.far_byte = 0.01;
    const std::vector<int> numbers{0, 0, 0, 1};
    CHECK(takes(4, 2, 0, host_map(numbers)) == Approx(3 * 3 / 2.0 + 3 / 2.0));
    // In large groups the ranks that are not counted work as those that are.
    const int size = 2 * estimate::most_chained;
    CHECK(takes(size, 1, 0) == Approx(size * (size - 1)));
}

TEST_CASE("a message that is a little too long for a packet takes another one, where cores are shared") {
    cost_model costs = simple();
    costs.packet = 10;
    constexpr double packet = 65'483, most = packet - 64;  // a header is in the first
    const auto more = [&](double cores, double bytes, std::size_t slice = MiB) {
        cost_model without = costs;
        without.packet = 0;
        costs.cores = without.cores = cores;
        return estimate(line, 2, costs, slice).seconds(bytes) - estimate(line, 2, without, slice).seconds(bytes);
    };
    for (const double cores : {0., 2.}) CHECK(more(cores, most + 1) == 0);
    // Beside what bytes take on average; at both ends.
    CHECK(more(1, 0) == 0);
    CHECK(more(1, packet / 2) == Approx(2 * 10 * -0.5));
    CHECK(more(1, most) == Approx(2 * 10 * -most / packet));
    CHECK(more(1, most + 1) == Approx(2 * 10 * (1 - (most + 1) / packet)));
    CHECK(more(1, 2.25 * packet) == Approx(2 * 10 * -0.25));
    CHECK(more(1, 4 * packet, 2 * static_cast<std::size_t>(packet)) == Approx(0).epsilon(1e-9));  // two slices of three packets each
}

TEST_CASE("rounds and messages take longer where any host has more ranks than cores, and only there") {
    cost_model costs = simple();
    costs.message = 2;
    costs.cores = 2;
    const auto takes = [&](int size, double crowded, double bytes, const host_map& hosts = {}) {
        costs.crowded = crowded;
        return estimate(line, size, costs, default_slice_bytes, hosts).seconds(bytes);
    };
    const std::vector<int> two_each{0, 0, 1, 1}, fuller{0, 0, 0, 1};
    CHECK(takes(2, 5, 0) == takes(2, 1, 0));
    CHECK(takes(4, 5, 0, host_map(two_each)) == takes(4, 1, 0, host_map(two_each)));
    CHECK(takes(3, 5, 0) == Approx(5 * takes(3, 1, 0)));
    CHECK(takes(3, 5, 1000) == Approx(takes(3, 1, 1000) + 4 * takes(3, 1, 0)));  // bytes as long as before
    costs.far_round = 0;
    CHECK(takes(4, 5, 0, host_map(fuller)) == Approx(5 * takes(4, 1, 0, host_map(fuller))));
    const int large = 2 * estimate::most_chained;
    CHECK(takes(large, 5, 0) == Approx(5 * takes(large, 1, 0)));
    costs.cores = 0;
    CHECK(takes(large, 5, 0) == takes(large, 1, 0));
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
                               [](participant at) {
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

TEST_CASE("what is answered costs a part less, where the slices follow each other and where ranks share cores") {
    const algorithm& entry = *find(collective::all_reduce, "halving_doubling");
    for (const double cores : {0.0, 2.0}) {
        CAPTURE(cores);
        cost_model usual = simple();
        usual.round = 0;
        usual.cores = cores;
        cost_model answered = usual;
        answered.answered = 0.5;
        const double slow = estimate(entry, 4, usual, 100).seconds(1e6), quick = estimate(entry, 4, answered, 100).seconds(1e6);
        // Three quarters of the vector come back, of three that are sent and received.
        CHECK(quick / slow == Approx(1 - 0.5 * 0.75 / 3).epsilon(cores > 0 ? 0.05 : 0.01));
    }
    cost_model answered = simple();
    answered.answered = 0.5;
    const algorithm& around = *find(collective::all_reduce, "ring");
    CHECK(estimate(around, 4, answered).seconds(1e9) == estimate(around, 4, simple()).seconds(1e9));
}

TEST_CASE("where what is answered costs a part less, so does what is summed in one pass") {
    const algorithm& entry = *find(collective::all_reduce, "direct");
    for (const double cores : {0.0, 2.0}) {
        CAPTURE(cores);
        cost_model usual = simple();
        usual.round = usual.moved_byte = 0;
        usual.reduced_byte = 0.01;
        usual.cores = cores;
        cost_model answered = usual;
        answered.answered = 0.5;
        const double slow = estimate(entry, 4, usual, 100).seconds(1e6), quick = estimate(entry, 4, answered, 100).seconds(1e6);
        CHECK(quick / slow == Approx(1 - 0.5 * 2 / 3).epsilon(0.01));  // of three parts all but the first
    }
}

TEST_CASE("to how many peers bytes go counts beyond spread_from only, where slices follow each other and where ranks share cores") {
    const algorithm& direct = *find(collective::all_reduce, "direct");
    for (const double cores : {0.0, 2.0}) {
        CAPTURE(cores);
        cost_model none = simple(), all = simple(), beyond = simple();
        all.spread_byte = beyond.spread_byte = 1;
        none.cores = all.cores = beyond.cores = cores;
        beyond.spread_from = 4e6;  // four vectors of a million
        const auto seconds = [&](const cost_model& costs, double bytes) { return estimate(direct, 4, costs, 100).seconds(bytes); };
        for (const double bytes : {0.0, 1e3, 1e6}) CHECK(seconds(beyond, bytes) == Approx(seconds(none, bytes)));
        CHECK(seconds(beyond, 2e6) > seconds(none, 2e6));
        CHECK(seconds(beyond, 2e6) - seconds(none, 2e6) == Approx((seconds(all, 2e6) - seconds(none, 2e6)) / 2));
        CHECK(seconds(beyond, 1e9) == Approx(seconds(all, 1e9)).epsilon(0.01));
        cost_model only = none, answered = none;  // half of what is sent is answered
        only.round = only.moved_byte = answered.round = answered.moved_byte = 0;
        only.spread_byte = answered.spread_byte = 1;
        answered.answered = 0.5;
        CHECK(seconds(answered, 1e6) == Approx(seconds(only, 1e6) / 2));
    }
}

TEST_CASE("what is sent costs more for each link that a host has more than ranks") {
    cost_model none = simple(), spread = simple();
    none.cores = spread.cores = 1;
    spread.spread_byte = 1;
    const auto extra = [&](collective kind, const char* name, int size, const host_map& hosts = {}) {
        const algorithm& entry = *find(kind, name);
        return (estimate(entry, size, spread, 1 << 30, hosts).seconds(1e6) - estimate(entry, size, none, 1 << 30, hosts).seconds(1e6)) /
               1e6;
    };
    CHECK(extra(collective::all_gather, "direct", 4) == Approx(4 * 0.75 * (12 - 4)).epsilon(0.001));
    CHECK(extra(collective::all_gather, "direct", 8) == Approx(8 * 0.875 * (56 - 8)).epsilon(0.001));
    CHECK(extra(collective::all_gather, "recursive_doubling", 8) == Approx(8 * 0.875 * (24 - 8)).epsilon(0.001));
    CHECK(extra(collective::all_gather, "ring", 8) == Approx(0));
    CHECK(extra(collective::scatter, "direct", 8) == Approx(0));  // seven links
    CHECK(extra(collective::scatter, "direct", 128) == Approx(0));
    // Two hosts of three ranks, each of which sends half a sixth's worth of its links to its own host.
    CHECK(extra(collective::all_gather, "direct", 6, host_map(std::vector<int>{0, 0, 0, 1, 1, 1})) ==
          Approx(3 * 2.0 / 6 * (6 - 3)).epsilon(0.001));
}

TEST_CASE("what came and is sent on costs more beyond spread_from, by the byte") {
    const algorithm& ring = *find(collective::all_gather, "ring");
    const algorithm& direct = *find(collective::all_gather, "direct");
    cost_model none = simple(), more = simple();
    more.forwarded_byte = 1;
    more.spread_from = 4e6;  // four vectors of a million
    for (const double bytes : {0.0, 1e6, 2e6, 1e9}) {
        const auto extra = [&](const algorithm& entry) {
            return estimate(entry, 4, more, 100).seconds(bytes) - estimate(entry, 4, none, 100).seconds(bytes);
        };
        CHECK(extra(direct) == Approx(0));
        CHECK(extra(ring) == Approx(std::max(0.0, bytes - 1e6) / 2).epsilon(0.001));  // two blocks of four
    }
}
