#include "engine/call_order.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("calls behind a reservation wait until all of its places have been called") {
    call_order order;
    CHECK(order.take() == 1);
    const std::uint64_t first = order.reserve(2);
    CHECK(first == 2);
    CHECK(order.take() == 4);
    CHECK(order.given_out() == 4);
    CHECK(!order.called(0));
    CHECK(order.called(1));
    CHECK(!order.called(2));
    CHECK(order.called(4));
    CHECK(!order.called(5));
    CHECK(!order.holds(1));
    CHECK(order.holds(4));
    CHECK(order.take(2) == 2);
    CHECK(order.called(2));
    CHECK(order.first_open() == 3);
    CHECK(!order.holds(3));
    CHECK(order.holds(4));
    CHECK(order.take(3) == 3);
    CHECK(!order.holds(4));
}

TEST_CASE("of two reservations the later one may be used first") {
    call_order order;
    CHECK(order.reserve(1) == 1);
    CHECK(order.reserve(2) == 2);
    CHECK(order.take(2) == 2);
    CHECK(order.holds(2));
    CHECK(order.take(1) == 1);
    CHECK(order.first_open() == 3);
    CHECK(order.take(3) == 3);
    CHECK(order.take() == 4);
    CHECK(!order.holds(4));
}
