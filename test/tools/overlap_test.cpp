#include "overlap.hpp"

#include "samples.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace perf;

namespace {

struct example {
    effort communication, computing;
    double both;
    int ranks, cores;
    double least, hidden, of_possible;
};

}  // namespace

TEST_CASE("the hidden part is measured against what the cores allow") {
    const example examples[] = {
        // Cores enough: all could be hidden, and is; half; nothing; less than nothing.
        {{20, 20}, {50, 50}, 50, 1, 4, 50, 1, 1},
        {{20, 20}, {50, 50}, 60, 1, 4, 50, 0.5, 0.5},
        {{20, 20}, {50, 50}, 70, 1, 4, 50, 0, 0},
        {{20, 20}, {50, 50}, 80, 1, 4, 50, -0.5, -0.5},
        // The shorter one is the computation.
        {{50, 10}, {20, 20}, 60, 1, 4, 50, 0.5, 0.5},
        // Two ranks on two cores: 20 ms of communication's work stand behind 50 of computation on each core.
        {{30, 20}, {50, 50}, 70, 2, 2, 70, 1.0 / 3, 1},
        {{30, 20}, {50, 50}, 75, 2, 2, 70, 1.0 / 6, 0.5},
    };
    for (const example& each : examples) {
        CAPTURE(each.both);
        const overlap found = overlap_of(each.communication, each.computing, each.both, each.ranks, each.cores);
        CHECK(found.least == doctest::Approx(each.least));
        CHECK(found.hidden == doctest::Approx(each.hidden));
        CHECK(found.of_possible == doctest::Approx(each.of_possible));
    }
}

TEST_CASE("where the cores allow no overlap there is no share of it") {
    const overlap found = overlap_of({30, 30}, {50, 50}, 80, 2, 2);
    CHECK(std::isnan(found.of_possible));
    CHECK(to_text(found).find("nothing could be") != std::string::npos);
}

TEST_CASE("the text names all four times") {
    const std::string text = to_text(overlap_of({0.02, 0.02}, {0.05, 0.05}, 0.06, 1, 4));
    CHECK(
        text ==
        "# communication alone 20.000 ms, computation alone 50.000 ms, both 60.000 ms, at best 50.000 ms: 50% hidden, 50% of what could be\n");
}

TEST_CASE("a computation uses the processor, and a longer one more of it") {
    const computation shorter(1e-3), longer(20e-3);
    const double began = cpu_now();
    shorter();
    const double middle = cpu_now();
    longer();
    CHECK(middle > began);
    CHECK(cpu_now() - middle > middle - began);
}
