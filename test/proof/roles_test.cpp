#include "proof/roles.hpp"

#include "support/line.hpp"

#include <doctest/doctest.h>

using namespace tutti;

namespace {

plan_builder of(const std::vector<schedule>& plans) {
    return [&plans](rank me) { return plans[static_cast<std::size_t>(me)]; };
}

std::vector<schedule> circle(int size) {
    std::vector<schedule> plans;
    for (rank me = 0; me < size; ++me) {
        schedule plan({.output = size});
        plan.round(send((me + 1) % size, output(me)), recv((me + size - 1) % size, output((me + size - 1) % size)));
        plans.push_back(plan);
    }
    return plans;
}

}  // namespace

TEST_CASE("around a circle all ranks play one role, in a circle of two as well") {
    for (const int size : {2, 3, 7}) {
        CAPTURE(size);
        const auto found = roles_of(size, of(circle(size)));
        REQUIRE(found);
        REQUIRE(found->all.size() == 1);
        CHECK(found->all[0].one == 0);
        CHECK(found->all[0].ranks == size);
        CHECK(found->all[0].transfers == 2);
        CHECK(found->all[0].paths.size() == (size == 2 ? 1 : 2));
        CHECK(found->all[0].paths[0].back == (size == 2 ? 0 : 1));  // what goes to the right comes from the left
        CHECK(found->whole == size);
    }
}

TEST_CASE("along a line every rank plays its own role, however far the ends are") {
    const int size = 9;
    CHECK(roles_of(size, of(test::line(size)))->all.size() == size);
}

TEST_CASE("ranks that send more blocks, or in other rounds, play other roles") {
    std::vector<schedule> plans = circle(4);
    schedule longer({.output = 4});
    longer.round(send(1, output(0, 2)), recv(3, output(3)));
    plans[0] = longer;
    CHECK(roles_of(4, of(plans))->all.size() == 4);  // one differs, so all see it from other distances
    CHECK(roles_of(4, of(plans))->largest_transfer == 2);
    schedule apart({.output = 4});
    apart.round(send(1, output(0)));
    apart.round(recv(3, output(3)));
    plans[0] = apart;
    CHECK(roles_of(4, of(plans))->all.size() == 4);
}

TEST_CASE("unmerged, every rank plays its own role, with its peers by their ranks") {
    const std::vector<schedule> plans = circle(3);
    const auto found = roles_of(3, of(plans), false);
    REQUIRE(found->all.size() == 3);
    CHECK(found->all[1].one == 1);
    CHECK(found->all[1].paths[0].role == 2);
    CHECK(found->all[1].paths[1].role == 0);
}

TEST_CASE("beyond the limits there is no answer") {
    const std::vector<schedule> plans = circle(5);
    CHECK(roles_of(5, of(plans), true, {10, 10}));
    CHECK_FALSE(roles_of(5, of(plans), true, {9, 10}));
    CHECK_FALSE(roles_of(5, of(plans), true, {10, 9}));
}

TEST_CASE("peers are numbered in the order in which the plan names them") {
    schedule plan({.input = 1, .output = 4});
    plan.round(send(7, output(0)), copy(output(1), input(0)), recv(2, output(2)));
    plan.round(send(2, output(3)), recv(7, output(0)));
    CHECK(number_peers(plan) == std::vector{0, -1, 1, 1, 0});
}
