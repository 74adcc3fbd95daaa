#include "proof/bound.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using doctest::Approx;

namespace {

constexpr network networks[] = {
    {.latency = 20e-6, .bandwidth = 12.5e9},
    {.latency = 5e-6, .bandwidth = 1e9, .overhead = 2e-6, .reduce_bandwidth = 4e9},
    {.latency = 1e-6, .bandwidth = 1e10, .overhead = 1e-7, .reduce_bandwidth = 1e8},
    {.latency = 0, .bandwidth = 1e9, .overhead = 3e-6},
    {.latency = 0, .bandwidth = 1e9},
};

simulated run(const algorithm& entry, int size, rank root, double bytes, const network& over, bool merged) {
    simulate_options how;
    how.slice_bytes = 3000;
    how.merged = merged;
    return simulate(
        size,
        [&](rank me) {
            return entry.build({me, size, root});
        },
        bytes, over, how);
}

template <class Check>
void for_every_run(Check check) {
    for (const algorithm& entry : catalogue())
        for (int size = 1; size <= 33; ++size)
            for (const double bytes : {0.0, 100.0, 50'000.0})
                for (const network& over : networks) {
                    if (!serves(entry, size) || (entry.kind == collective::barrier && bytes > 0)) continue;
                    INFO(name(entry.kind), " ", entry.name, ", ", size, " ranks, ", bytes, " bytes, latency ", over.latency);
                    check(entry, size, bytes, over);
                }
}

}  // namespace

TEST_CASE("no algorithm beats the bound, at any size") {
    for_every_run([](const algorithm& entry, int size, double bytes, const network& over) {
        const simulated found = run(entry, size, 0, bytes, over, true);
        CHECK(found.refused == "");
        CHECK(found.seconds >= lower_bound_seconds(entry.kind, size, bytes, over) * (1 - 1e-9));
    });
}

TEST_CASE("one rank for each role takes exactly as long as all ranks") {
    for_every_run([](const algorithm& entry, int size, double bytes, const network& over) {
        const rank root = has_root(entry.kind) ? size - 1 : 0;
        const simulated merged = run(entry, size, root, bytes, over, true), all = run(entry, size, root, bytes, over, false);
        CHECK(all.roles == size);
        CHECK(merged.roles <= all.roles);
        CHECK(merged.seconds == all.seconds);
        CHECK(merged.slices == all.slices);
    });
}

TEST_CASE("in a ring, and where partners double a power of two, all ranks play one role") {
    for (const std::string_view name : {"ring", "recursive_doubling", "halving_doubling"})
        CHECK(run(*find(collective::all_reduce, name), 32, 0, 1e6, networks[0], true).roles == 1);
    CHECK(run(*find(collective::all_to_all, "direct"), 31, 0, 1e6, networks[0], true).roles == 1);
    CHECK(run(*find(collective::all_reduce, "star"), 31, 0, 1e6, networks[0], true).roles == 31);
}

TEST_CASE("the ring takes what one counts by hand") {
    const network over{.latency = 10e-6, .bandwidth = 1e9};
    // 2(P-1) rounds of a latency and one block each, as long as a block is one slice.
    CHECK(run(*find(collective::all_reduce, "ring"), 5, 0, 10'000, over, true).seconds == Approx(8 * (10e-6 + 2e-6)));
    // With slices the card is never idle: latency once, then all bytes.
    CHECK(run(*find(collective::all_reduce, "ring"), 5, 0, 1e9, over, true).seconds == Approx(10e-6 + 1.6).epsilon(1e-4));
}

TEST_CASE("the bound is what its sources say") {
    const network over{.latency = 2, .bandwidth = 10, .overhead = 1, .reduce_bandwidth = 4};
    CHECK(lower_bound_seconds(collective::all_reduce, 1, 100, over) == 0);
    CHECK(lower_bound_seconds(collective::broadcast, 2, 100, over) == Approx(3 + 10));
    CHECK(lower_bound_seconds(collective::all_gather, 4, 100, over) == Approx(3 + 7.5));
    CHECK(lower_bound_seconds(collective::reduce, 4, 100, over) == Approx(3 + 18.75));
    CHECK(lower_bound_seconds(collective::all_reduce, 4, 100, {.latency = 2, .bandwidth = 10, .overhead = 1}) == Approx(3 + 15));
    // A message each second, heard three seconds later: 1 rank at 0, 2 at 3, 3 at 4, 4 at 5, 6 at 6, 9 at 7.
    CHECK(lower_bound_seconds(collective::barrier, 4, 0, over) == Approx(5));
    CHECK(lower_bound_seconds(collective::barrier, 6, 0, over) == Approx(6));
    CHECK(lower_bound_seconds(collective::barrier, 7, 0, over) == Approx(7));
    CHECK(lower_bound_seconds(collective::barrier, 9, 0, over) == Approx(7));
    CHECK(lower_bound_seconds(collective::barrier, 10, 0, over) == Approx(8));
}
