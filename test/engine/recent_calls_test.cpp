#include "engine/recent_calls.hpp"

#include "engine/request.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace tutti;

namespace {

call_signature call_with(const char* label, std::uint64_t count = 1) {
    request what;
    what.kind = collective::all_reduce;
    what.count = count;
    what.label = label;
    return describe(what);
}

}  // namespace

TEST_CASE("a call is remembered with its label until 64 later ones have been made") {
    recent_calls calls(2);
    CHECK(!calls.find(0));
    CHECK(!calls.find(1));
    calls.remember(1, call_with("loss"), "loss");
    calls.remember(2, call_with(""), "");
    REQUIRE(calls.find(1));
    CHECK(*calls.find(1) == call_with("loss"));
    CHECK(calls.label_of(1) == "loss");
    CHECK(calls.label_of(2).empty());
    calls.remember(65, call_with(""), "");
    CHECK(!calls.find(1));
    CHECK(calls.label_of(1).empty());
    CHECK(calls.find(2));
}

TEST_CASE("a reserved place that is called late does not displace a later call") {
    recent_calls calls(0);
    calls.remember(65, call_with("", 7), "");
    calls.remember(1, call_with(""), "");
    CHECK(!calls.find(1));
    CHECK(calls.find(65)->count == 7);
}

TEST_CASE("a mismatch names both calls, and the labels where only these differ") {
    recent_calls calls(2);
    calls.remember(3, call_with("loss"), "loss");
    const report counts = calls.mismatch({1, 3, call_with("loss"), call_with("loss", 5)}, {});
    CHECK(counts.code == error::mismatch);
    CHECK(counts.peers == std::vector<rank>{2, 1});
    CHECK(counts.cause == "rank 2 called all_reduce f32 sum count 1 where rank 1 called all_reduce f32 sum count 5 (operation #3)");
    const differing_call labels{1, 3, call_with("loss"), call_with("norm")};
    CHECK(calls.mismatch(labels, "norm").cause.find("labelled \"loss\" where rank 1") != std::string::npos);
    CHECK(calls.ask_about(labels));
    CHECK(!calls.ask_about(labels));
    CHECK(calls.unanswered().cause.find("labelled #") != std::string::npos);
}
