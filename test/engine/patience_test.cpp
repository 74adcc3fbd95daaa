#include "engine/patience.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using namespace std::chrono_literals;

TEST_CASE("a rank that waits asks at intervals that double, and stops after the last") {
    patience waits;
    waits.begin({});
    const time_point start{};
    CHECK(waits.next(start) == start + 250ms);
    CHECK(!waits.asks(249ms));
    CHECK(waits.asks(250ms));
    CHECK(!waits.asks(250ms));
    CHECK(waits.next(start) == start + 500ms);
    int questions = 1;
    while (waits.next(start) != no_deadline) questions += waits.asks(waits.next(start) - start);
    CHECK(questions == 9);
    CHECK(!waits.asks(1h));
    CHECK(!waits.warns(1h));
}

TEST_CASE("warnings come at intervals of their own") {
    patience waits;
    waits.begin(100ms);
    const time_point start{};
    CHECK(waits.next(start) == start + 100ms);
    CHECK(!waits.asks(100ms));
    CHECK(waits.warns(100ms));
    CHECK(waits.next(start) == start + 200ms);
    CHECK(waits.warns(200ms));
    CHECK(waits.next(start) == start + 250ms);
}
