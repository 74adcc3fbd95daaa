#include "gradients.hpp"
#include "support/allocations.hpp"
#include "support/ranks.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

namespace bucket_pipeline_test {

using namespace tutti;
using test::gradients;
using test::memory;
using test::run_ranks;

namespace {

using std::chrono::milliseconds;

/// Two ranks over lines of 1 MB/s: a bucket of 1000 floats takes about 4 ms or a little more.
void run_slowly(const test::rank_body& body) {
    event_loop loop(event_loop::virtual_time);
    line_options line;
    line.latency = std::chrono::microseconds(10);
    line.bytes_per_second = 1e6;
    line.partial_moves = false;
    simulated_network network(1, line);
    run_ranks(loop, 2, [&](event_loop& on) { return std::make_unique<simulated_transport>(on, network); }, body);
}

/// Four buckets; the backward pass computes for `pause` after each of them.
task<> compute(communicator& world, duration pause, std::size_t live, overlap& told) {
    std::vector<parameter> parameters;
    for (int which = 0; which < 4; ++which) parameters.emplace_back("p", 1000, data_type::f32);
    reducer_options options;
    options.first_bucket = options.bucket = 4 * KiB;
    options.live = live;
    reducer all(world, parameters, options);
    for (int step = 0; step < 2; ++step) {
        for (std::size_t which = 4; which-- > 0;) {
            all.ready(which);
            co_await sleep_for(pause);
        }
        co_await all.finish();
    }
    CHECK(all.stats().total.steps == 2);
    CHECK(all.stats().total.bytes == 32000);
    if (world.rank() == 0) told = all.stats().last;
}

overlap computed(duration pause, std::size_t live = 64) {
    overlap told;
    run_slowly([&](communicator& world) { return compute(world, pause, live, told); });
    return told;
}

}  // namespace

TEST_CASE("communication that ends during the backward pass is hidden") {
    const overlap found = computed(milliseconds(20));
    CHECK(found.exposed == duration());
    CHECK(found.busy > milliseconds(8));
    CHECK(found.busy < milliseconds(80));  // pauses between buckets do not count
    CHECK(found.ratio() == 1);
}

TEST_CASE("communication that begins with the wait is exposed") {
    const overlap found = computed(duration());
    CHECK(found.busy > milliseconds(8));
    CHECK(found.exposed == found.busy);
    CHECK(found.ratio() == 0);
}

TEST_CASE("communication that is slower than the backward pass is hidden in part") {
    const overlap found = computed(milliseconds(2));
    CHECK(found.exposed > duration());
    CHECK(found.exposed + milliseconds(8) == found.busy);
    CHECK(found.ratio() > 0.1);
    CHECK(found.ratio() < 0.9);
}

TEST_CASE("no more buckets are under way than allowed") {
    // One after the other they cannot overlap their ways forth and back.
    CHECK(computed(duration(), 1).busy > computed(duration(), 2).busy);
    CHECK(computed(duration(), 2).busy >= computed(duration(), 4).busy);
}

TEST_CASE("the ratio stays between nothing and all") {
    overlap one;
    CHECK(one.ratio() == 1);
    one.exposed = milliseconds(1);
    CHECK(one.ratio() == 0);
    one.busy = milliseconds(4);
    CHECK(one.ratio() == 0.75);
}

namespace {

task<> count_allocations(communicator& world, std::size_t& most) {
    gradients mine(memory::mixed);
    reducer all(world, mine.parameters(), test::small_buckets());
    for (int step = 0; step < 60; ++step) {  // in the last of them, ranks that are ahead close already
        const std::size_t before = test::allocations();
        for (std::size_t which = mine.size(); which-- > 0;) all.ready(which);
        co_await all.finish();
        if (step >= 5 && step < 55) most = std::max(most, test::allocations() - before);
    }
}

}  // namespace

TEST_CASE("after warm-up a step allocates nothing" * doctest::skip(!test::counts_allocations)) {
    std::size_t most = 0;
    run_ranks(3, [&](communicator& world) { return count_allocations(world, most); });
    CHECK(most == 0);
}

}  // namespace bucket_pipeline_test
