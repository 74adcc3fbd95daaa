#include "proof/print.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("a plan prints a line per step with its round") {
    schedule plan({.input = 1, .output = 6, .scratch = 1});
    plan.round(send(1, output(4, 2)), recv(2, scratch(0)));
    plan.round(recv_reduce(0, output(3)), copy(output(5), input(0)));
    CHECK(to_string(plan) ==
          "round 0: send to 1 output[4..6)\n"
          "round 0: recv from 2 scratch[0]\n"
          "round 1: recv_reduce from 0 output[3]\n"
          "round 1: copy input[0] to output[5]\n");
    CHECK(to_string(schedule()).empty());
}
