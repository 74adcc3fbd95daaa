#include "algorithm/point_to_point.hpp"

#include "schedule/execution.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("a send plan and a recv plan carry one block from input to output") {
    const std::vector plans{point_to_point_send(1), point_to_point_recv(0)};
    contract promise;
    promise.ranks = {{{{input(0), {0, 0}}}, {}}, {}};
    const matching pairs(plans);
    expressions formulas;
    execution world(plans, pairs, promise, formulas);
    world.run();
    CHECK(world.stuck().empty());
    CHECK(formulas.text(world.at(1, 0, output(0))) == "0");
}
