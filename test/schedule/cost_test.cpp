#include "schedule/cost.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("a plan's cost is counted from its steps") {
    schedule plan({.input = 2, .output = 4, .scratch = 1});
    plan.round(send(1, output(0, 3)), send(2, output(3)), recv(1, scratch(0)));
    plan.round(recv_reduce(2, output(0, 2)), copy(output(0), input(0)));
    plan.round(copy(output(1), output(0)));
    const cost total = count(plan);
    CHECK(total.rounds == 3);
    CHECK(total.exchanges == 2);
    CHECK(total.steps == 6);
    CHECK(total.messages == 4);
    CHECK(total.whole == 4);
    CHECK(total.sent == 4);
    CHECK(total.received == 3);
    CHECK(total.reduced == 2);
    CHECK(total.copied == 2);
    CHECK(total.near() == 7);
    CHECK(total.bytes(total.sent, 100) == 100);
}

TEST_CASE("an empty plan costs nothing") {
    CHECK(count(schedule()) == cost{});
    CHECK(count(schedule()).bytes(0, 100) == 0);
}

TEST_CASE("what goes to other hosts is counted apart, in each round the larger of sent and received") {
    schedule plan({.output = 4});
    plan.round(send(1, output(0, 3)), send(2, output(3)), recv(3, output(1, 2)));
    plan.round(recv_reduce(1, output(0)));
    plan.round(send(2, output(0, 4)));
    const std::vector<int> numbers{0, 0, 1, 2};
    const cost total = count(plan, 0, host_map(numbers));
    CHECK(total.far_exchanges == 2);
    CHECK(total.far_sent == 5);
    CHECK(total.far_received == 2);
    CHECK(total.far_serial == 6);  // 2 received in the first round, 4 sent in the last
    CHECK(total.near() == 4);  // 3 to rank 1, 1 from it
    const cost near = count(plan);
    CHECK(near.far_exchanges == 0);
    CHECK(near.far_serial == 0);
    CHECK(near.near() == 11);
}
