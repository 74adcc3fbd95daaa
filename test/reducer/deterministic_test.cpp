// Gradients in the deterministic mode: the bits of an average do not depend on the bucket that it travels in.
#include <tutti/reducer.hpp>

#include "support/ranks.hpp"

#include <doctest/doctest.h>

#include <random>

namespace deterministic_test {

using namespace tutti;
using test::run_ranks;

namespace {

/// Average gradients of parameters, in buckets of about so many bytes.
task<> average(communicator& world, std::size_t bucket, std::vector<float>& result) {
    std::vector<parameter> parameters;
    for (const std::size_t count : {300u, 1u, 700u, 5u, 4000u, 64u, 129u})
        parameters.emplace_back("layer", buffer(nullptr, count, data_type::f32));
    reducer_options options;
    options.first_bucket = options.bucket = bucket;
    reducer all(world, parameters, options);
    std::mt19937_64 random{static_cast<std::uint64_t>(world.rank())};
    for (std::size_t which = 0; which < parameters.size(); ++which)
        for (float& each : all.gradient<float>(which)) each = static_cast<float>(std::uniform_real_distribution<>(-2, 2)(random));
    for (std::size_t which = parameters.size(); which-- > 0;) all.ready(which);
    co_await all.finish();
    for (std::size_t which = 0; which < parameters.size() && world.rank() == 0; ++which)
        for (const float each : all.gradient<float>(which)) result.push_back(each);
}

/// With costs by which buckets of a kilobyte have another algorithm than longer ones.
std::vector<float> averages(std::size_t bucket, bool deterministic) {
    std::vector<float> result;
    context_options options;
    options.deterministic = deterministic;
    options.slice_bytes = 4096;
    options.small_bytes = 256;
    options.costs.emplace();
    options.costs->round = options.costs->message = 7e-8;
    run_ranks(
        5, [&](communicator& world) { return average(world, bucket, result); }, options);
    return result;
}

}  // namespace

TEST_CASE("gradients have the same averages in buckets of any size, which they have not without the mode") {
    const std::vector<float> one_bucket = averages(MiB, true);
    REQUIRE(one_bucket.size() == 5199);
    for (const std::size_t bucket : {std::size_t{1024}, std::size_t{3000}, std::size_t{20'000}}) {
        CAPTURE(bucket);
        CHECK(averages(bucket, true) == one_bucket);
    }
    CHECK(averages(1024, false) != averages(MiB, false));
}

}  // namespace deterministic_test
