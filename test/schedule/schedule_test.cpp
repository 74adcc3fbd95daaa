#include "schedule/schedule.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("a round without steps is not added") {
    schedule plan({.output = 1});
    plan.round();
    plan.end_round();
    CHECK(plan.rounds() == 0);
    plan.round(send(1, output(0)));
    plan.end_round();
    CHECK(plan.rounds() == 1);
}

TEST_CASE("steps added one by one form the same plan as a round of them") {
    schedule one({.output = 2}), other({.output = 2});
    one.round(send(1, output(0)), recv(1, output(1)));
    one.round(copy(output(0), output(1)));
    other.add(send(1, output(0)));
    other.add(recv(1, output(1)));
    other.end_round();
    CHECK_FALSE(one == other);
    other.add(copy(output(0), output(1)));
    other.end_round();
    CHECK(one == other);
    CHECK(one.rounds() == 2);
    CHECK(one.round(0).size() == 2);
    CHECK(one.round(1).size() == 1);
    CHECK(one.round(1)[0] == copy(output(0), output(1)));
}
