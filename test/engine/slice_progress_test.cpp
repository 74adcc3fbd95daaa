#include "engine/slice_progress.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace tutti;

namespace {

using moves = std::vector<std::pair<int, std::size_t>>;  // round, slice

/// Receives a block in the first round, and sends it on in the second.
program passing_on() {
    schedule plan({.output = 1});
    plan.round(recv(0, output(0)));
    plan.round(send(2, output(0)));
    return program(plan, 1);
}

moves moved(slice_progress& progress) {
    moves ended;
    progress.advance([&](int round, std::size_t slice) {
        ended.emplace_back(round, slice);
        return true;
    });
    return ended;
}

}  // namespace

TEST_CASE("a slice enters the next round when its transfers are done, while others are still behind") {
    const program plan = passing_on();
    slice_progress progress;
    progress.begin(plan, 3);
    progress.rewind();
    CHECK(progress.may_begin(0, 2));
    CHECK(!progress.may_begin(1, 0));
    CHECK(moved(progress).empty());
    progress.count(0);
    CHECK(moved(progress) == moves{{0, 0}});
    CHECK(progress.may_begin(1, 0));
    CHECK(!progress.may_begin(1, 1));
    progress.count(0);
    progress.count(0);
    progress.count(1);
    CHECK(moved(progress) == moves{{0, 1}, {0, 2}, {1, 0}});
    CHECK(!progress.complete());
    progress.count(1);
    progress.count(1);
    CHECK(moved(progress) == moves{{1, 1}, {1, 2}});
    CHECK(progress.complete());
    progress.rewind();
    CHECK(!progress.complete());
    CHECK(progress.transferred(0) == 0);
}

TEST_CASE("a slice that is done early makes room in the window, and counts in its turn") {
    const program plan = passing_on();
    slice_progress progress;
    progress.begin(plan, 3);
    progress.rewind();
    CHECK(progress.inside_window_among(0, 0, 1));
    CHECK(!progress.inside_window_among(0, 1, 1));
    progress.note_early(0);
    CHECK(progress.inside_window_among(0, 1, 1));
    CHECK(moved(progress).empty());
    progress.count(0);
    progress.count_early(0);
    CHECK(progress.transferred(0) == 2);
    CHECK(moved(progress) == moves{{0, 0}, {0, 1}});
}

TEST_CASE("one slice ends its round with the round's last transfer") {
    const program plan = passing_on();
    slice_progress progress;
    progress.begin(plan, 1);
    progress.rewind();
    CHECK(progress.waits());
    CHECK(progress.waits_for_one());
    progress.count(0);
    CHECK(!progress.waits());
    CHECK(moved(progress) == moves{{0, 0}});
    CHECK(progress.waits());
    progress.count(1);
    CHECK(moved(progress) == moves{{1, 0}});
    CHECK(progress.complete());
}
