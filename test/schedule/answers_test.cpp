#include "schedule/answers.hpp"

#include <doctest/doctest.h>

using namespace tutti;

namespace {

/// The step that answers the first send.
const step* answer_in(const schedule& plan) { return answering(plan, 0, plan.round(0)[0]); }

}  // namespace

TEST_CASE("a recv into what was sent to the same peer answers the send") {
    schedule plan({.output = 4});
    plan.round(send(1, output(0, 2)), recv_reduce(1, output(2, 2)));
    plan.round(send(2, output(2)), recv(2, output(3)));
    plan.round(send(1, output(2, 2)), recv(1, output(0, 2)));
    REQUIRE(answer_in(plan));
    CHECK(answer_in(plan) == &plan.round(2)[1]);
    CHECK(answering(plan, 1, plan.round(1)[0]) == nullptr);  // it is sent once more
    CHECK(answering(plan, 2, plan.round(2)[0]) == nullptr);  // nothing comes any more
}

TEST_CASE("it answers only from the same peer, into the same blocks, and when nobody touches these meanwhile") {
    const auto with = [](auto... between) {
        schedule plan({.input = 4, .output = 4});
        plan.round(send(1, output(0, 2)));
        plan.round(between...);
        return answer_in(plan) != nullptr;
    };
    CHECK(with(recv(1, output(0, 2))));
    CHECK_FALSE(with(recv(2, output(0, 2))));
    CHECK_FALSE(with(recv(1, output(0))));
    CHECK_FALSE(with(recv(1, output(1, 2))));
    CHECK_FALSE(with(recv_reduce(1, output(0, 2))));
    CHECK_FALSE(with(send(2, output(1)), recv(1, output(0, 2))));
    CHECK_FALSE(with(copy(output(3), output(1)), recv(1, output(0, 2))));
    CHECK_FALSE(with(recv(1, input(0, 2))));
    schedule same({.output = 1});
    same.round(send(1, output(0)), recv(1, output(0)));
    CHECK(answer_in(same) == nullptr);
}

TEST_CASE("input and output may be the same memory, scratch is none of theirs") {
    CHECK(may_overlap(input(1), output(1)));
    CHECK(may_overlap(input(0), output(1)));
    CHECK(may_overlap(output(0, 2), output(1)));
    CHECK_FALSE(may_overlap(output(0), output(1)));
    CHECK_FALSE(may_overlap(scratch(0), output(0)));
    CHECK_FALSE(may_overlap(scratch(0), input(0)));
}
