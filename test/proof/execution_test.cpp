#include "proof/execution.hpp"

#include <doctest/doctest.h>

using namespace tutti;

namespace {

contract one_block_each(int size) {
    contract promise;
    promise.spaces = {.output = 1};
    for (rank me = 0; me < size; ++me) promise.ranks.push_back({{{output(0), {me, 0}}}, {}});
    return promise;
}

}  // namespace

TEST_CASE("the lower rank's operand goes first, so both sides of an exchange hold the same formula, in every slice") {
    schedule mine({.output = 1}), theirs({.output = 1});
    mine.round(send(1, output(0)), recv_reduce(1, output(0)));
    theirs.round(recv_reduce(0, output(0)), send(0, output(0)));
    const std::vector plans{mine, theirs};
    const matching pairs(plans);
    for (std::uint32_t seed = 0; seed < 10; ++seed) {
        CAPTURE(seed);
        expressions formulas;
        execution world(plans, pairs, one_block_each(2), formulas, {.slices = 3});
        std::mt19937 order(seed);
        world.run(&order);
        CHECK(world.stuck().empty());
        for (int slice = 0; slice < 3; ++slice)
            for (rank who : {0, 1}) CHECK(formulas.text(world.at(who, slice, output(0))) == "(0+1)");
    }
}

TEST_CASE("a send takes what the block held when its round began, not what the round adds") {
    // Three ranks around a circle, one round: everybody ends with two contributions only.
    std::vector<schedule> plans;
    for (rank me = 0; me < 3; ++me) {
        plans.emplace_back(shape{.output = 1});
        plans.back().round(recv_reduce((me + 2) % 3, output(0)), send((me + 1) % 3, output(0)));
    }
    const matching pairs(plans);
    expressions formulas;
    execution world(plans, pairs, one_block_each(3), formulas);
    world.run();
    CHECK(formulas.text(world.at(0, 0, output(0))) == "(0+2)");
    CHECK(formulas.text(world.at(1, 0, output(0))) == "(0+1)");
    CHECK(formulas.text(world.at(2, 0, output(0))) == "(1+2)");
}

TEST_CASE("who waits for ever says for what") {
    schedule waits({.output = 1}), late({.output = 1});
    waits.round(recv(1, output(0)));
    waits.round(send(1, output(0)));
    late.round(recv(0, output(0)));
    late.round(send(0, output(0)));
    const std::vector plans{waits, late};
    const matching pairs(plans);
    expressions formulas;
    execution world(plans, pairs, one_block_each(2), formulas);
    world.run();
    CHECK(world.stuck() == "rank 0 waits for ever in round 0; recv from 1 output[0], which stands at round 0");
    CHECK(world.unwritten().empty());
}
