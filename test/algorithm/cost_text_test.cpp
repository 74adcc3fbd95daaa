#include "algorithm/cost_text.hpp"

#include "algorithm/estimate.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace tutti;

TEST_CASE("costs survive their text to the last bit") {
    cost_model odd;
    odd.round = 1.0 / 3e5;
    odd.moved_byte = 0x1.23456789abcdep-32;
    odd.cores = 0;
    odd.far_byte = 5e-324;
    CHECK(costs_in(to_string(odd)) == odd);
    CHECK(costs_in(to_string(cost_model{})) == cost_model{});
}

TEST_CASE("what is not named stays") {
    cost_model base;
    base.message = 3;
    const auto found = costs_in("round=1e-5,reduced_byte=0", base);
    REQUIRE(found);
    CHECK(found->round == 1e-5);
    CHECK(found->reduced_byte == 0);
    CHECK(found->message == 3);
    CHECK(costs_in("", base) == base);
}

TEST_CASE("names of transports stand for their defaults, and numbers behind them differ") {
    cost_model other;
    other.round = 3;
    CHECK(costs_in("tcp", other) == cost_model{});
    CHECK(costs_in("shm", other) == shared_memory_costs);
    cost_model busy = shared_memory_costs;
    busy.cores = 2;
    CHECK(costs_in("shm,cores=2") == busy);
}

TEST_CASE("the largest costs that are taken are added up to finite times") {
    const auto found = costs_in("round=1e6,message=1e6,moved_byte=1e6,reduced_byte=1e6,far_round=1e6,far_byte=1e6,cores=1");
    REQUIRE(found);
    for (const algorithm& entry : catalogue()) {
        if (!serves(entry, 16)) continue;
        CAPTURE(entry.name);
        CHECK(std::isfinite(estimate(entry, 16, *found).seconds(0x1p60)));
    }
}

TEST_CASE("what is no cost is refused") {
    for (const char* text : {"round",          "round=",    "round=x",  "round=1e-5x", "round=-1",           "round=inf", "round=nan",
                             "rounds=1",       "tcp=1",     "=1",       ",",           "round=1,,message=1", " round=1",  "round=2e6",
                             "far_byte=1e300", "cores=0.5", "cores=-1", "cores=inf",   "round=1e-6,shm",     "tcp,shm"}) {
        CAPTURE(text);
        CHECK_FALSE(costs_in(text));
    }
}
