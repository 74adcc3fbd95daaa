#include "sizes.hpp"

#include <doctest/doctest.h>

using namespace perf;
using sizes = std::vector<std::uint64_t>;

TEST_CASE("lists and ranges of sizes are read") {
    struct {
        const char* text;
        double step;
        sizes expected;
    } const examples[] = {
        {"4", 4, {4}},
        {"0", 4, {0}},
        {"4,64KiB,1MiB", 4, {4, 65536, 1048576}},
        {"4b,1kB,1k,2MB,3KiB,1Mi", 4, {4, 1000, 1000, 2000000, 3072, 1048576}},
        {"4..64", 4, {4, 16, 64}},
        {"4..65", 4, {4, 16, 64, 65}},
        {"1..4", 1.1, {1, 2, 3, 4}},
        {"7..7", 2, {7}},
        {"64GiB", 2, {most_bytes}},
    };
    for (const auto& each : examples) {
        CAPTURE(each.text);
        CHECK(sizes_in(each.text, each.step) == each.expected);
    }
}

TEST_CASE("what is no size is bad input") {
    for (const char* text :
         {"", "x", "4,", ",4", "-4", "+4", "4x", "4 5", "65GiB", "99999999999999999999", "8..4", "4..", "..4", "4..8..16"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(sizes_in(text, 4), bad_input);
    }
}
