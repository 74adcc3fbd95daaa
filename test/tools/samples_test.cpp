#include "samples.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace perf;

TEST_CASE("a batch counts as its slowest rank, and the median is over batches") {
    const plan how{3, 10};
    REQUIRE(stopwatch::numbers_count(how) == 5);
    // batches, p99, processor
    const std::vector<double> numbers{1, 5, 3, 9, 2,   // rank 0
                                      2, 4, 6, 8, 4};  // rank 1
    const summary all = summarize(how, 2, numbers);
    CHECK(all.least == 2);  // of 2, 5, 6
    CHECK(all.median == 5);
    CHECK(all.p99 == 9);
    CHECK(all.cpu == doctest::Approx(3));
}

TEST_CASE("the median of an even number of batches lies between two") {
    const std::vector<double> numbers{4, 1, 3, 2, 0, 0};
    CHECK(summarize({4, 1}, 1, numbers).median == doctest::Approx(2.5));
}

TEST_CASE("a percentile is a value that was measured, the least one which so many do not exceed") {
    const struct {
        int count;
        double p50, p99;
    } rows[] = {{1, 1, 1}, {2, 1, 2}, {3, 2, 3}, {50, 25, 50}, {99, 50, 99}, {100, 50, 99}, {101, 51, 100}, {1000, 500, 990}};
    for (const auto& each : rows) {
        CAPTURE(each.count);
        std::vector<double> values(static_cast<std::size_t>(each.count));
        std::iota(values.begin(), values.end(), 1);
        CHECK(percentile(values, 0.5) == each.p50);
        CHECK(percentile(values, 0.99) == each.p99);
    }
}

TEST_CASE("a plan fills the time, and never has less than three batches of one") {
    struct {
        double seconds, op_seconds;
        int batches, ops;
    } const examples[] = {
        {0.9, 0.01, 9, 10}, {0.9, 1e-9, 9, 4000}, {0.9, 0.2, 9, 1}, {0.9, 0.9, 4, 1}, {0.9, 100, 3, 1},
    };
    for (const auto& each : examples) {
        CAPTURE(each.op_seconds);
        const plan made = plan_for(each.seconds, each.op_seconds);
        CHECK(made.batches == each.batches);
        CHECK(made.ops == each.ops);
    }
}

TEST_CASE("what lies between pause and resume does not count") {
    const plan how{1, 2};
    stopwatch watch(how);
    watch.begin_batch();
    for (int op = 0; op < how.ops; ++op) {
        watch.pause();
        const double began = now(), cpu_began = cpu_now();
        while (now() - began < 0.02 || cpu_now() - cpu_began < 0.01) {}
        watch.resume();
        watch.end_op();
    }
    watch.end_batch();
    const summary all = summarize(how, 1, watch.numbers());
    CHECK(all.median >= -1e-9);  // rounding
    CHECK(all.p99 >= 0);
    CHECK(all.cpu >= -1e-9);
    CHECK(all.cpu < 0.01);  // of the processor an operation used little, whatever else runs here
}

TEST_CASE("a stopwatch gives as many numbers as it promises, and none is negative") {
    const plan how{4, 3};
    stopwatch watch(how);
    for (int batch = 0; batch < how.batches; ++batch) {
        watch.begin_batch();
        for (int i = 0; i < how.ops; ++i) watch.end_op();
        watch.end_batch();
    }
    const auto numbers = watch.numbers();
    CHECK(numbers.size() == stopwatch::numbers_count(how));
    for (const double each : numbers) CHECK(each >= 0);
}
