#include "algorithm/chooser.hpp"
#include "algorithm/tuning.hpp"

#include "algorithm/estimate.hpp"
#include "schedule/cost.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tutti;

namespace {

struct row {
    int size;
    collective kind;
    std::size_t bytes;
    std::string_view expected;
};
using enum collective;

void check(std::span<const row> rows, const cost_model& model = {}) {
    for (const row& one : rows) {
        CAPTURE(one.size);
        CAPTURE(name(one.kind));
        CAPTURE(one.bytes);
        CHECK(chooser(one.size, model).choose(one.kind, one.bytes).name == one.expected);
    }
}

cost_model on_two_cores(cost_model model) {
    model.cores = 2;
    return model;
}

}  // namespace

TEST_CASE("on two cores the defaults let one rank sum small vectors over TCP, and give all ranks the same work for large ones") {
    const row over_tcp[] = {
        {2, all_reduce, 4, "recursive_doubling"},
        {2, all_reduce, 64 * KiB, "recursive_doubling"},
        {2, all_reduce, 512 * KiB, "ring"},
        {2, all_reduce, 64 * MiB, "ring"},
        {4, all_reduce, 4 * KiB, "star"},
        {4, all_reduce, 8 * KiB, "star"},
        {4, all_reduce, 16 * KiB, "star"},
        {4, all_reduce, 48 * KiB, "tree"},
        {4, all_reduce, 65'000, "tree"},
        {4, all_reduce, 64 * KiB, "tree"},
        {4, all_reduce, 256 * KiB, "halving_once"},
        {4, all_reduce, 1 * MiB, "halving_doubling"},
        {4, all_reduce, 2 * MiB, "halving_doubling"},
        {4, all_reduce, 64 * MiB, "halving_doubling"},
        {4, broadcast, 64 * MiB, "tree"},
        {4, all_gather, 64 * KiB, "recursive_doubling"},
        {4, all_gather, 64 * MiB, "recursive_doubling"},
        {4, reduce_scatter, 512 * KiB, "direct"},
        {4, reduce_scatter, 64 * MiB, "direct"},
        {4, all_to_all, 64, "direct"},
        {4, gather, 64 * MiB, "direct"},
        {4, scatter, 4 * KiB, "direct"},
        {4, scatter, 1 * MiB, "direct"},
        {8, scatter, 64, "direct"},
        {8, scatter, 64 * KiB, "direct"},
        {8, scatter, 4 * MiB, "direct"},
        {8, all_reduce, 1 * KiB, "star"},
        {8, all_reduce, 64 * KiB, "tree"},
        {8, all_reduce, 512 * KiB, "halving_twice"},
    };
    check(over_tcp, on_two_cores({}));
}

TEST_CASE("on two cores the defaults choose few rounds in shared memory, of which each is a switch of threads") {
    const row in_memory[] = {
        {2, all_reduce, 4, "recursive_doubling"},
        {2, all_reduce, 8 * KiB, "recursive_doubling"},
        {2, all_reduce, 16 * KiB, "recursive_doubling"},
        {2, all_reduce, 256 * KiB, "ring"},
        {3, all_reduce, 128 * KiB, "star"},
        {4, all_reduce, 4 * KiB, "star"},
        {4, all_reduce, 32 * KiB, "star"},
        {4, all_reduce, 64 * KiB, "direct"},
        {4, all_reduce, 128 * KiB, "direct"},
        {4, all_reduce, 64 * MiB, "direct"},
        {4, broadcast, 64 * MiB, "tree"},
        {4, all_gather, 64 * MiB, "direct"},
        {4, reduce_scatter, 64 * MiB, "direct"},
        {4, all_to_all, 64 * KiB, "direct"},
        {4, gather, 64 * KiB, "direct"},
        {4, scatter, 64 * KiB, "direct"},
        {8, all_reduce, 64 * KiB, "tree"},
        {8, all_reduce, 1 * MiB, "direct"},
        {8, all_reduce, 16 * MiB, "direct"},
        {8, all_gather, 16 * MiB, "direct"},
        {8, reduce_scatter, 1 * MiB, "direct"},
        {8, reduce_scatter, 16 * MiB, "direct"},
    };
    check(in_memory, on_two_cores(shared_memory_costs));
}

TEST_CASE("where ranks that share memory have a core each, few messages are what counts for vectors that are not large") {
    cost_model model = shared_memory_costs;
    model.cores = 16;
    const row rows[] = {
        {2, all_reduce, 64 * KiB, "recursive_doubling"}, {4, all_reduce, 1 * KiB, "recursive_doubling"},
        {4, all_reduce, 16 * KiB, "halving_once"},       {4, all_reduce, 256 * KiB, "halving_doubling"},
        {4, all_gather, 4 * KiB, "recursive_doubling"},  {8, all_reduce, 1 * KiB, "recursive_doubling"},
        {8, all_reduce, 4 * KiB, "halving_once"},        {8, all_reduce, 64 * KiB, "halving_twice"},
        {8, all_reduce, 256 * KiB, "halving_twice"},     {16, all_reduce, 64 * KiB, "halving_doubling"},
    };
    check(rows, model);
}

TEST_CASE("where each rank has a core the defaults choose few rounds for small vectors and few bytes for large ones") {
    const row rows[] = {
        {2, all_reduce, 64 * KiB, "recursive_doubling"},
        {3, all_reduce, 4, "star"},
        {4, all_reduce, 64, "recursive_doubling"},
        {4, all_reduce, 256 * KiB, "halving_once"},
        {4, all_reduce, 1 * MiB, "halving_doubling"},
        {4, all_reduce, 64 * MiB, "halving_doubling"},
        {8, all_reduce, 64 * KiB, "halving_twice"},
        {8, all_reduce, 1 * MiB, "halving_twice"},
        {16, all_reduce, 1 * MiB, "halving_doubling"},
        {8, broadcast, 64, "tree"},
        {33, broadcast, 64 * MiB, "scatter"},
        {8, all_gather, 64, "recursive_doubling"},
        {8, all_gather, 64 * MiB, "recursive_doubling"},
        {8, reduce_scatter, 64, "direct"},
        {8, reduce_scatter, 64 * MiB, "direct"},
        {33, all_to_all, 64, "bruck"},
        {33, all_to_all, 1 * MiB, "direct"},
        {8, barrier, 0, "dissemination"},
        {8, gather, 64 * MiB, "direct"},
        {64, gather, 64, "tree"},
        {8, scatter, 1 * MiB, "direct"},
        {64, scatter, 64, "tree"},
        {8, scan, 64, "doubling"},
        {8, scan, 64 * MiB, "chain"},
    };
    check(rows);
}

TEST_CASE("a choice costs no more than any other algorithm") {
    const cost_model model;
    for (const int size : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33}) {
        chooser choices(size, model);
        for (const algorithm& entry : catalogue())
            for (const std::size_t bytes : {std::size_t{0}, std::size_t{4}, 3 * KiB, 48 * KiB, 700 * KiB, 16 * MiB, 3 * GiB}) {
                if (!serves(entry, size)) continue;
                const algorithm& choice = choices.choose(entry.kind, bytes);
                CAPTURE(size);
                CAPTURE(bytes);
                CAPTURE(choice.name);
                CAPTURE(entry.name);
                CHECK(choice.kind == entry.kind);
                CHECK(serves(choice, size));
                CHECK(estimate(choice, size, model).seconds(static_cast<double>(bytes)) <=
                      estimate(entry, size, model).seconds(static_cast<double>(bytes)) * (1 + 1e-6));
            }
    }
}

TEST_CASE("an ordered choice is an ordered algorithm, the cheapest of them, at every size and for every number of bytes") {
    const cost_model model;
    const algorithm* const ring = find(all_reduce, "ring");
    const algorithm* const star = find(all_reduce, "star");
    for (const int size : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33})
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{4}, 48 * KiB, 700 * KiB, 3 * GiB}) {
            chooser choices(size, model);
            for (const collective kind : {all_reduce, reduce, reduce_scatter, scan, exclusive_scan, reduce_scatter_v}) {
                CAPTURE(size);
                CAPTURE(bytes);
                CAPTURE(name(kind));
                const algorithm& choice = choices.choose(kind, bytes, true);
                CHECK(choice.kind == kind);
                CHECK(choice.ordered);
                for (const algorithm& other : catalogue())
                    if (other.kind == kind && other.ordered && serves(other, size))
                        CHECK(estimate(choice, size, model).seconds(static_cast<double>(bytes)) <=
                              estimate(other, size, model).seconds(static_cast<double>(bytes)) * (1 + 1e-6));
            }
            // Forcing what keeps no order does not force it where order counts.
            CHECK(chooser(size, model, {{0, ring}}).choose(all_reduce, bytes, true).ordered);
            CHECK(&chooser(size, model, {{0, star}}).choose(all_reduce, bytes, true) == star);
        }
}

TEST_CASE("what is wanted is taken from its bytes on, where it may be, and elsewhere what costs least") {
    const algorithm *const ring = find(all_reduce, "ring"), *const star = find(all_reduce, "star"),
                           *const once = find(all_reduce, "halving_once");
    chooser usual(4), wanting(4, {}, {{4 * KiB, ring}, {64 * KiB, star}});
    CHECK(&wanting.choose(all_reduce, 4 * KiB - 1) == &usual.choose(all_reduce, 4 * KiB - 1));
    CHECK(&wanting.choose(all_reduce, 4 * KiB) == ring);
    CHECK(&wanting.choose(all_reduce, 64 * KiB - 1) == ring);
    CHECK(&wanting.choose(all_reduce, 64 * KiB) == star);
    CHECK(&wanting.choose(all_reduce, 3 * GiB) == star);
    CHECK(&wanting.choose(broadcast, 64 * KiB) == &usual.choose(broadcast, 64 * KiB));
    // A ring keeps no order.
    CHECK(&wanting.choose(all_reduce, 4 * KiB, true) == &usual.choose(all_reduce, 4 * KiB, true));
    CHECK(&wanting.choose(all_reduce, 64 * KiB, true) == star);
    chooser back(4, {}, {{4 * KiB, star}, {MiB, by_cost(all_reduce)}});
    CHECK(&back.choose(all_reduce, MiB - 1) == star);
    CHECK(&back.choose(all_reduce, MiB) == &usual.choose(all_reduce, MiB));
    CHECK(&back.choose(all_reduce, 3 * GiB, true) == &usual.choose(all_reduce, 3 * GiB, true));
    // The last counts, and what does not serve so many ranks is not taken, nor is what was wanted before it.
    CHECK(&chooser(4, {}, {{4 * KiB, ring}, {0, star}}).choose(all_reduce, 64 * KiB) == star);
    CHECK(&chooser(3, {}, {{0, ring}, {4 * KiB, once}}).choose(all_reduce, 64 * KiB) == &chooser(3).choose(all_reduce, 64 * KiB));
}

TEST_CASE("a deterministic choice combines in the one grouping, and is the cheapest that does, ordered or not") {
    const cost_model model;
    const algorithm* const ring = find(all_reduce, "ring");
    const algorithm* const tree = find(all_reduce, "tree");
    for (const int size : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33, 100}) {
        chooser choices(size, model, {}, true), usual(size, model);
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{4}, 48 * KiB, 700 * KiB, 3 * GiB})
            for (int number = 0; number < collective_count; ++number) {
                const auto kind = static_cast<collective>(number);
                CAPTURE(size);
                CAPTURE(bytes);
                CAPTURE(name(kind));
                const algorithm& choice = choices.choose(kind, bytes);
                CHECK(choice.kind == kind);
                CHECK(deterministic(choice, size));
                if (!reduces(kind)) CHECK(&choice == &usual.choose(kind, bytes));
                if (reduces(kind) && size > 2) CHECK(&choice == &choices.choose(kind, bytes, true));
                for (const algorithm& other : catalogue())
                    if (other.kind == kind && serves(other, size) && deterministic(other, size))
                        CHECK(estimate(choice, size, model).seconds(static_cast<double>(bytes)) <=
                              estimate(other, size, model).seconds(static_cast<double>(bytes)) * (1 + 1e-6));
            }
        // Only one of its kind can be forced.
        CHECK(deterministic(chooser(size, model, {{0, ring}}, true).choose(all_reduce, 4), size));
        CHECK(&chooser(size, model, {{0, tree}}, true).choose(all_reduce, 3 * GiB) == tree);
    }
}

TEST_CASE("small and large vectors have algorithms of their own in the deterministic mode, too") {
    for (const int size : {4, 5, 8, 33}) {
        CAPTURE(size);
        chooser choices(size, {}, {}, true);
        CHECK(choices.choose(all_reduce, 4).name == "recursive_doubling");
        CHECK(choices.choose(all_reduce, 64 * MiB).name == "halving_doubling");
    }
}

TEST_CASE("a threshold is exact: one byte less is the range before") {
    chooser choices(4);
    const auto& ranges = choices.ranges(collective::all_reduce);
    REQUIRE(ranges.size() == 3);
    CHECK(ranges[0].from_bytes == 0);
    for (std::size_t k = 1; k < ranges.size(); ++k) {
        CHECK(&choices.choose(collective::all_reduce, ranges[k].from_bytes - 1) == ranges[k - 1].choice);
        CHECK(&choices.choose(collective::all_reduce, ranges[k].from_bytes) == ranges[k].choice);
    }
}

TEST_CASE("the model decides: free rounds make the ring win, dear rounds the star") {
    cost_model free_rounds, dear_rounds;
    free_rounds.round = free_rounds.message = 0;
    dear_rounds.round = 1;
    CHECK(chooser(4, free_rounds).choose(collective::all_reduce, 1).name == "ring");
    CHECK(chooser(33, dear_rounds).choose(collective::all_reduce, 1).name == "star");
}

TEST_CASE("where ranks share hosts and a network is between them, the choice knows of both") {
    struct layered_row {
        int hosts, ranks;
        collective kind;
        std::size_t bytes;
        std::string_view expected;
    };
    const layered_row rows[] = {
        {4, 8, all_reduce, 16 * KiB, "leaders"},
        {4, 8, all_reduce, 64 * MiB, "halving_doubling"},  // its first partners are neighbours: parts by another name
        {2, 3, all_reduce, 64 * MiB, "parts"},
        {4, 8, barrier, 0, "leaders"},
        {4, 8, broadcast, 256 * KiB, "leaders_scatter"},
        {3, 6, broadcast, 64, "leaders"},
        {3, 6, reduce, 64 * KiB, "leaders"},
        {4, 8, all_gather, 64 * KiB, "leaders"},
        // Partners that double from neighbours on keep to their host as long as they can.
        {4, 8, all_reduce, 64, "recursive_doubling"},
        {4, 8, broadcast, 64, "tree"},
    };
    for (const layered_row& one : rows) {
        std::vector<int> numbers;
        for (rank each = 0; each < one.hosts * one.ranks; ++each) numbers.push_back(each / one.ranks);
        CAPTURE(one.hosts);
        CAPTURE(name(one.kind));
        CAPTURE(one.bytes);
        CHECK(chooser(one.hosts * one.ranks, {}, {}, false, host_map(numbers)).choose(one.kind, one.bytes).name == one.expected);
    }
}

TEST_CASE("uneven hosts and ranks in turns are served, one host or ranks alone need no layers") {
    const auto names = [](std::vector<int> numbers) {
        std::vector<std::string_view> all;
        chooser choices(static_cast<int>(numbers.size()), {}, {}, false, host_map(numbers));
        for (const collective kind : {all_reduce, broadcast, reduce, all_gather, barrier})
            for (const chooser::range& each : choices.ranges(kind)) all.push_back(each.choice->name);
        return all;
    };
    const auto layered = [&](std::vector<int> numbers) {
        const auto all = names(std::move(numbers));
        return std::count_if(all.begin(), all.end(), [](std::string_view each) { return each.starts_with("leaders") || each == "parts"; });
    };
    CHECK(layered({0, 0, 0, 0, 1, 1, 1, 2}) > 0);
    CHECK(layered({0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}) > 0);
    const std::vector<int> fewer_on_last{0, 0, 0, 1, 1, 1, 2, 2};
    CHECK(chooser(8, {}, {}, false, host_map(fewer_on_last)).choose(all_reduce, 64 * MiB).name == "leaders_ring");
    CHECK(layered({4, 4, 4, 4}) == 0);
    CHECK(layered({1, 2, 3, 4}) == 0);
    const algorithm* const parts = find(all_reduce, "parts");
    const std::vector<int> even{0, 0, 1, 1}, uneven{0, 0, 0, 1};
    CHECK(&chooser(4, {}, {{0, parts}}, false, host_map(even)).choose(all_reduce, 4) == parts);
    CHECK(&chooser(4, {}, {{0, parts}}, false, host_map(uneven)).choose(all_reduce, 4) != parts);
}

TEST_CASE("large groups are counted at their ends only, and hardly anything is missed there") {
    const int size = 100;
    cost_model rounds_only, bytes_only;
    rounds_only.round = bytes_only.moved_byte = 1;
    rounds_only.moved_byte = rounds_only.message = rounds_only.reduced_byte = 0;
    bytes_only.round = bytes_only.message = bytes_only.reduced_byte = 0;
    for (const algorithm& entry : catalogue()) {
        if (!serves(entry, size)) continue;
        int rounds = 0;
        double bytes = 0;
        for (rank me = 0; me < size; ++me) {
            const cost mine = count(entry.build({me, size, 0}));
            rounds = std::max(rounds, mine.exchanges);
            bytes = std::max(bytes, mine.bytes(mine.near(), 1));
        }
        if (entry.hops) rounds = std::max(rounds, entry.hops(size));
        CAPTURE(entry.name);
        CHECK(estimate(entry, size, rounds_only).seconds(0) == rounds);
        constexpr double many = 0x1p60;  // so the first slice, which passes all hops, hardly counts
        const double found = estimate(entry, size, bytes_only).seconds(many) / many;
        CHECK(found <= bytes * (1 + 1e-9));
        CHECK(found >= bytes * 0.9);  // who is just beyond the ends of a scan has one partner more than those there
    }
}
