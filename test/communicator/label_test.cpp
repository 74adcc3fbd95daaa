// Labels that differ between ranks: every rank hears of both, in words, whatever the way between the two.
#include "over_each.hpp"
#include "support/failures.hpp"
#include "support/ranks.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

namespace label_test {

using namespace tutti;
using namespace tutti::test;

namespace {

/// Two calls that are alike but for their labels, which one rank makes in another order.
task<> swap_two(communicator& world, rank odd, std::size_t count, failures& told) {
    std::vector<float> loss(count, 1), accuracy(count, 100);
    const bool other = world.rank() == odd;
    call_options first, second;
    first.label = other ? "accuracy" : "loss";
    second.label = other ? "loss" : "accuracy";
    auto& mine = told[static_cast<std::size_t>(world.rank())];
    try {
        co_await world.barrier();  // else the first failure may come while a rank still joins
        co_await world.all_reduce(other ? accuracy : loss, sum, first);
        co_await world.all_reduce(other ? loss : accuracy, sum, second);
        co_await world.watch();
    } catch (const failure& why) {
        mine = why;
    }
}

/// Checks that every rank was told, in the same words, that the odd one and another have different labels.
void check_swapped(const failures& told, rank odd) {
    REQUIRE(told[0]);
    const std::string cause = told[0]->details().cause;
    CAPTURE(cause);
    CHECK(cause.find(fmt::format("rank {} called all_reduce", odd)) != std::string::npos);
    CHECK(cause.find("labelled \"loss\"") != std::string::npos);
    CHECK(cause.find("labelled \"accuracy\"") != std::string::npos);
    check_each(told, error::mismatch, "labelled");
}

}  // namespace

TEST_CASE("two calls that are swapped on one rank, and differ in their labels only, fail on all ranks with both labels") {
    for (const int size : {2, 3, 5, 8})
        for (rank odd = 0; odd < size; ++odd)
            for (const std::size_t count : {1u, 30'000u}) {
                CAPTURE(size);
                CAPTURE(odd);
                CAPTURE(count);
                failures told(static_cast<std::size_t>(size));
                run_ranks(size, [&](communicator& world) { return swap_two(world, odd, count, told); });
                check_swapped(told, odd);
            }
}

TEST_CASE("the same over every transport") {
    for (const over& each : transports) {
        CAPTURE(each.name);
        for (const std::size_t count : {1u, 200'000u}) {
            failures told(3);
            run_over(each, 3, [&](communicator& world) { return swap_two(world, 2, count, told); });
            check_swapped(told, 2);
        }
    }
}

}  // namespace label_test
