// The sentences that people get about collectives that wait for long.
#include "engine/table.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;
using test::asking;
using test::why;

TEST_CASE("people hear of a collective that waits after a while, after twice as long, and so on, until its deadline") {
    engine_settings settings;
    settings.stall_warning = 10s;
    settings.forced = {find(collective::all_reduce, "star")};  // rank 0 waits for each of the others
    for (const int lanes : {1, 2}) {
        CAPTURE(lanes);
        settings.lanes = lanes;
        test::table table(3, settings);
        std::vector<float> mine(1000), theirs(1000), next(1);
        request call = asking(collective::all_reduce, mine);
        call.label = "grads";
        auto first = table[0].issue(call, 100s);
        auto behind = table[0].issue(asking(collective::all_reduce, next), 100s);
        call = asking(collective::all_reduce, theirs);
        call.label = "grads";
        auto other = table[1].issue(call, 100s);
        table.settle();
        CHECK(why(first).code == error::timed_out);
        std::vector<std::string> expected;
        for (const int seconds : {10, 20, 40, 80})
            expected.push_back(fmt::format("{} s: all_reduce f32 sum count 1000 #1 'grads' has waited {} s for rank 2", seconds, seconds));
        CHECK(table[0].stalled == expected);
        CHECK(table[2].stalled.empty());
    }
}

TEST_CASE("people hear nothing of a collective that ends in time, nor where they do not want to") {
    for (const duration warning : {duration(0), duration(10s)}) {
        engine_settings settings;
        settings.stall_warning = warning;
        test::table table(2, settings);
        std::vector<float> mine(1000), theirs(1000);
        auto one = table[0].issue(asking(collective::all_reduce, mine), 9s);
        if (warning == duration(0)) {
            table.settle();
            CHECK(why(one).code == error::timed_out);
        } else {
            auto other = table[1].issue(asking(collective::all_reduce, theirs), 9s);
            table.settle();
            CHECK(!why(one).code);
        }
        CHECK(table[0].stalled.empty());
    }
}
