#include "algorithm/cost_text.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("costs survive their text to the last bit") {
    cost_model odd;
    odd.round = 1.0 / 3e5;
    odd.moved_byte = 0x1.23456789abcdep-32;
    odd.cores = 0;
    odd.spread_byte = 5e-324;
    CHECK(costs_in(to_string(odd)) == odd);
    CHECK(costs_in(to_string(cost_model{})) == cost_model{});
}

TEST_CASE("what is not named stays") {
    cost_model base;
    base.message = 3;
    const auto found = costs_in("round=1e-5,spread_byte=0", base);
    REQUIRE(found);
    CHECK(found->round == 1e-5);
    CHECK(found->spread_byte == 0);
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

TEST_CASE("what is no cost is refused") {
    for (const char* text : {"round", "round=", "round=x", "round=1e-5x", "round=-1", "round=inf", "round=nan", "rounds=1", "tcp=1", "=1",
                             ",", "round=1,,message=1", " round=1", "answered=1.1", "allocated=2", "uneven=1.1", "crowded=0.9"}) {
        CAPTURE(text);
        CHECK_FALSE(costs_in(text));
    }
}
