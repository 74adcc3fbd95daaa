// Ranks that disagree, and bytes that no correct rank sends: found before anything is written, and told in words.
#include "engine/put.hpp"
#include "engine/table.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace tutti;
using test::asking;
using test::put;
using test::why;

namespace {

/// The frame that rank 1 of 2 sends first in an all-reduce of four floats, number 1.
frame right_frame() {
    frame head;
    head.epoch = 7;
    head.sequence = 1;
    head.payload_bytes = 16;
    const algorithm& used = *find(collective::all_reduce, "recursive_doubling");
    head.what = {static_cast<std::uint8_t>(collective::all_reduce),
                 static_cast<std::uint8_t>(data_type::f32),
                 static_cast<std::uint8_t>(reduce_op::sum),
                 static_cast<std::uint8_t>(number(used)),
                 0,
                 4,
                 0,
                 0};
    return head;
}

/// The answer of rank 0 when the test, as rank 1, answers its all-reduce of four floats with `wrong`.
struct verdict {
    report told;
    std::vector<float> memory{1, 2, 3, 4};
    std::size_t failures = 0;
    std::vector<std::pair<rank, std::error_code>> lost;
};
verdict answer(const frame& wrong) {
    verdict seen;
    test::table table(2);
    table.by_hand();
    const auto played = table.play(0, 1, lane_kind::small);
    auto called = table[0].issue(asking(collective::all_reduce, seen.memory));
    table.settle();
    put(*played, wrong, wrong.payload_bytes);
    table.settle();
    seen.failures = table[0].failures.size();
    seen.lost = table[0].lost;
    seen.told = why(called);
    return seen;
}

}  // namespace

TEST_CASE("the right frame is taken") {
    const auto seen = answer(right_frame());
    CHECK(!seen.told.code);
    CHECK(seen.memory[0] != 1);
}

TEST_CASE("every field in which two calls differ is told by both ranks, and nothing is written") {
    struct row {
        const char* field;
        void (*change)(call_signature&);
        const char* theirs;
        const char* mine = "all_reduce f32 sum count 4";
    };
    const row rows[] = {
        {"kind", [](call_signature& d) { d.kind = static_cast<std::uint8_t>(collective::broadcast); }, "broadcast f32 count 4 root 0"},
        {"barrier", [](call_signature& d) { d.kind = static_cast<std::uint8_t>(collective::barrier); }, "barrier"},
        {"unknown kind", [](call_signature& d) { d.kind = 77; }, "collective 77"},
        {"type", [](call_signature& d) { d.type = static_cast<std::uint8_t>(data_type::f64); }, "all_reduce f64 sum count 4"},
        {"operator", [](call_signature& d) { d.op = static_cast<std::uint8_t>(reduce_op::max); }, "all_reduce f32 max count 4"},
        {"count", [](call_signature& d) { d.count = 5; }, "all_reduce f32 sum count 5"},
        {"size of an element", [](call_signature& d) { d.opaque_bytes = 24; }, "all_reduce f32(24 bytes) sum count 4"},
        {"list", [](call_signature& d) { d.digest = std::uint64_t{7} << 40 | 0xabc; }, "all_reduce f32 sum count 4 in 7 buffers"},
        {"digest of another collective",
         [](call_signature& d) { d.kind = static_cast<std::uint8_t>(collective::all_gather), d.digest = 0xabc; },
         "all_gather f32 count 4 digest #0000000000000abc"},
        {"whose memory", [](call_signature& d) { d.allocated = true; }, "all_reduce f32 sum count 4 with call_options::allocated",
         "all_reduce f32 sum count 4 without call_options::allocated"},
        {"algorithm", [](call_signature& d) { d.algorithm = static_cast<std::uint8_t>(number(*find(collective::all_reduce, "ring"))); },
         "all_reduce f32 sum count 4 by ring", "all_reduce f32 sum count 4 by recursive_doubling"},
        {"unknown algorithm", [](call_signature& d) { d.algorithm = 200; }, "all_reduce f32 sum count 4 by algorithm 200",
         "all_reduce f32 sum count 4 by recursive_doubling"},
    };
    for (const row& each : rows) {
        CAPTURE(each.field);
        frame wrong = right_frame();
        each.change(wrong.what);
        const auto seen = answer(wrong);
        CHECK(seen.told.code == error::mismatch);
        CHECK(seen.told.cause == fmt::format("rank 0 called {} where rank 1 called {} (operation #1)", each.mine, each.theirs));
        CHECK(seen.told.peers == std::vector<rank>{0, 1});
        CHECK(seen.failures == 1);
        CHECK(seen.memory == std::vector<float>{1, 2, 3, 4});
    }
}

TEST_CASE("two roots are told") {
    test::table table(3);
    std::vector<float> data(4);
    auto one = table[0].issue(asking(collective::broadcast, data, sum, 0));
    auto other = table[1].issue(asking(collective::broadcast, data, sum, 2));
    table.settle();
    REQUIRE(table[1].failures.size() == 1);
    CHECK(why(other).cause == "rank 1 called broadcast f32 count 4 root 2 where rank 0 called broadcast f32 count 4 root 0 (operation #1)");
    CHECK(!why(one).code);  // its part was done
}

TEST_CASE("a frame that does not fit the plan is a protocol error that says what was expected") {
    struct row {
        const char* field;
        void (*change)(frame&);
        const char* cause;
    };
    const row rows[] = {
        {"bytes", [](frame& f) { f.payload_bytes = 12; },
         "rank 1 sent 12 bytes as slice 0 of all_reduce f32 sum count 4 #1, the plan of rank 0 says 16 bytes, slice 0"},
        {"slice", [](frame& f) { f.slice = 3; }, "rank 1 sent 16 bytes as slice 3 of all_reduce f32 sum count 4 #1, the plan of rank 0 says 16 bytes, slice 0"},
        {"epoch", [](frame& f) { f.epoch = 6; }, "rank 1 sent a frame of epoch 6, this is epoch 7"},
        {"kind", [](frame& f) { f.kind = frame_kind::abort; }, "rank 1 sent a frame that does not belong on a data lane"},
        {"goodbye", [](frame& f) { f.kind = frame_kind::goodbye; }, "rank 1 sent a frame that does not belong on a data lane"},
    };
    for (const row& each : rows) {
        CAPTURE(each.field);
        frame wrong = right_frame();
        each.change(wrong);
        const auto seen = answer(wrong);
        CHECK(seen.told.code == error::protocol_error);
        CHECK(seen.told.cause == each.cause);
        CHECK(seen.failures == 1);
        CHECK(seen.memory == std::vector<float>{1, 2, 3, 4});
    }
}

TEST_CASE("a frame too many is a protocol error") {
    test::table table(2);
    table.by_hand();
    const auto played = table.play(0, 1, lane_kind::small);
    std::vector<float> data{1, 2, 3, 4};
    auto called = table[0].issue(asking(collective::all_reduce, data));
    put(*played, right_frame(), 16);
    table.settle();
    CHECK(!why(called).code);
    put(*played, right_frame(), 16);
    table.settle();
    REQUIRE(table[0].failures.size() == 1);
    CHECK(table[0].failures[0].code == error::protocol_error);
    CHECK(table[0].failures[0].cause == "rank 1 sent a frame of all_reduce f32 sum count 4 #1 that the plan of rank 0 does not contain");
}

TEST_CASE("a frame of an operation that ended a while ago is compared with what it was") {
    test::table table(1 + 1);
    table.by_hand();
    const auto played = table.play(0, 1, lane_kind::small);
    std::vector<float> data{1, 2, 3, 4};
    auto called = table[0].issue(asking(collective::all_reduce, data));
    put(*played, right_frame(), 16);
    table.settle();
    CHECK(!why(called).code);
    frame wrong = right_frame();
    wrong.what.type = static_cast<std::uint8_t>(data_type::i32);
    put(*played, wrong, 16);
    table.settle();
    REQUIRE(table[0].failures.size() == 1);
    CHECK(table[0].failures[0].cause == "rank 0 called all_reduce f32 sum count 4 where rank 1 called all_reduce i32 sum count 4 (operation #1)");
}

TEST_CASE("a rank that is already at a later operation has left one out") {
    test::table table(2);
    table.by_hand();
    const auto played = table.play(0, 1, lane_kind::small);
    std::vector<float> data{1, 2, 3, 4};
    auto called = table[0].issue(asking(collective::all_reduce, data));
    frame later = right_frame();
    later.sequence = 2;
    later.what.count = 9;
    put(*played, later, 16);
    table.settle();
    const report told = why(called);
    CHECK(told.code == error::mismatch);
    CHECK(told.cause == "rank 0 called all_reduce f32 sum count 4 (operation #1), for which rank 1 sends nothing: it is at all_reduce f32 sum count 9 #2");
}

TEST_CASE("bytes that are no frame end the link, not the process") {
    test::table table(2);
    table.by_hand();
    const auto played = table.play(0, 1, lane_kind::small);
    std::vector<float> data{1, 2, 3, 4};
    auto called = table[0].issue(asking(collective::all_reduce, data), std::chrono::seconds(1));
    const std::vector<std::byte> noise(200, std::byte{0x42});
    const std::span<const std::byte> part(noise);
    CHECK(played->try_send(std::span(&part, 1)).bytes == 200);
    table.settle();
    REQUIRE(table[0].lost.size() == 1);
    CHECK(table[0].lost[0].first == 1);
    CHECK(table[0].lost[0].second == error::protocol_error);
    CHECK(data == std::vector<float>{1, 2, 3, 4});
    CHECK(why(called).code == error::timed_out);
}

TEST_CASE("ranks that combine with operators of different names, or in another order, disagree") {
    const auto least = [](float a, float b) { return std::min(a, b); };
    const custom_op<float> one("one", commutes::yes, least), other("other", commutes::yes, least), ordered("one", commutes::no, least);
    for (const custom_op<float>* theirs : {&other, &ordered}) {
        test::table table(2);
        std::vector<float> data(4), there(4);
        auto mine = table[0].issue(asking(collective::all_reduce, data, one));
        auto different = table[1].issue(asking(collective::all_reduce, there, *theirs));
        table.settle();
        const report told = why(mine);
        CHECK(told.code == error::mismatch);
        CHECK(
            told.cause ==
            fmt::format(
                "rank 0 called all_reduce f32 custom count 4 operator and list #{:016x} where rank 1 called all_reduce f32 custom count 4 "
                "operator and list #{:016x} (operation #1)",
                one.digest(), theirs->digest()));
    }
}

TEST_CASE("ranks that wait for each other without a frame between them ask, and are told") {
    for (const rank odd : {1, 2, 3}) {
        CAPTURE(odd);
        engine_settings settings;
        settings.forced = {find(collective::all_reduce, "star"), find(collective::broadcast, "tree")};
        test::table table(4, settings);
        std::vector<std::vector<float>> memory(4, std::vector<float>(10));
        std::vector<future<>> calls;
        for (rank me = 0; me < 4; ++me)
            calls.push_back(table[me].issue(asking(me == odd ? collective::broadcast : collective::all_reduce, memory[static_cast<std::size_t>(me)]),
                                            std::chrono::minutes(5)));
        table.settle();
        // The others hear it over the control star, which a table does not have.
        const report told = why(calls[static_cast<std::size_t>(odd)]);
        CHECK(told.code == error::mismatch);
        CHECK(told.peers == std::vector<rank>{odd, 0});
        CHECK(told.cause.find("called broadcast f32 count 10 root 0") != std::string::npos);
        CHECK(told.cause.find("called all_reduce f32 sum count 10") != std::string::npos);
        CHECK(told.elapsed == first_patience);
    }
}
