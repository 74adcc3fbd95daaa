// The callers' names for a call, which ranks compare: two calls that are alike but for their labels are not the same call.
#include "engine/repeated_call.hpp"
#include "engine/table.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using test::asking;
using test::why;

namespace {

request labelled(request what, const char* label) {
    what.label = label;
    return what;
}

std::string differing(rank me, const std::string& mine, rank peer, const std::string& theirs, int number = 1) {
    const char* const call = "all_reduce f32 sum count 4";
    return fmt::format("rank {} called {} {} where rank {} called {} {} (operation #{})", me, call, mine, peer, call, theirs, number);
}

/// Returns whether one of two ranks has told the difference in the words of both. It tells the other, where they have a communicator.
bool told(test::table& table, const std::string& first, const std::string& second, int number = 1) {
    const std::string expected[] = {differing(0, first, 1, second, number), differing(1, second, 0, first, number)};
    for (const rank me : {0, 1})
        for (const report& each : table[me].failures)
            if (each.code == error::mismatch && each.cause == expected[me] && each.peers == std::vector<rank>{me, 1 - me}) return true;
    return false;
}

}  // namespace

TEST_CASE("ranks that give a call different labels disagree, in the words of both, and nothing is written") {
    struct row {
        const char* mine;
        const char* theirs;
        const char* my_words;
        const char* their_words;
    };
    const row rows[] = {
        {"loss", "accuracy", "labelled \"loss\"", "labelled \"accuracy\""},
        {"loss", nullptr, "labelled \"loss\"", "without a label"},
        {nullptr, "accuracy", "without a label", "labelled \"accuracy\""},
        {"", "accuracy", "without a label", "labelled \"accuracy\""},
        {"two\nlines", "one", "labelled \"two?lines\"", "labelled \"one\""},
        {"0123456789012345678901234567890123456789012345678901234567890123456789", "short",
         "labelled \"012345678901234567890123456789012345678901234567890123456789012\"", "labelled \"short\""},
    };
    for (const row& each : rows)
        for (const std::size_t small : {0u, 64 * 1024u})
            for (const int lanes : {1, 3}) {
                CAPTURE(each.my_words);
                CAPTURE(small);
                CAPTURE(lanes);
                engine_settings settings;
                settings.small_bytes = small;
                settings.lanes = lanes;
                test::table table(2, settings);
                std::vector<float> one{1, 2, 3, 4}, other(one);
                auto mine = table[0].issue(labelled(asking(collective::all_reduce, one), each.mine));
                auto theirs = table[1].issue(labelled(asking(collective::all_reduce, other), each.theirs));
                table.settle();
                CHECK(told(table, each.my_words, each.their_words));
                CHECK(why(mine).code == error::mismatch);
                CHECK(why(theirs).code == error::mismatch);
                CHECK(one == std::vector<float>{1, 2, 3, 4});
                CHECK(other == one);
            }
}

TEST_CASE("labels that read the same are the same, wherever they lie, and an empty one is none") {
    test::table table(3);
    const std::string copies[] = {"step 5", "step 5", "step 5"};
    const char* const empty[] = {"", nullptr, ""};
    for (const bool named : {true, false}) {
        std::vector<std::vector<float>> memory(3, std::vector<float>(4, 1));
        std::vector<future<>> calls;
        for (rank me = 0; me < 3; ++me) {
            const auto place = static_cast<std::size_t>(me);
            calls.push_back(
                table[me].issue(labelled(asking(collective::all_reduce, memory[place]), named ? copies[place].c_str() : empty[place])));
        }
        table.settle();
        for (auto& each : calls) CHECK(!why(each).code);
        CHECK(memory[2] == std::vector<float>(4, 3));
    }
}

TEST_CASE("a call that is made again like the last one is compared by its own label, as is a persistent one") {
    for (const bool persistent : {false, true}) {
        CAPTURE(persistent);
        test::table table(2);
        std::vector<float> one(4), other(4);
        const request mine = labelled(asking(collective::all_reduce, one), "first");
        request theirs = labelled(asking(collective::all_reduce, other), "first");
        const auto kept = persistent ? table[0].engine().keep(mine, duration::max()) : nullptr;
        const auto call_here = [&] { return persistent ? future<>(table[0].engine().issue(*kept)) : table[0].issue(mine); };
        for (int turn = 0; turn < 3; ++turn) {
            auto here = call_here();
            auto there = table[1].issue(theirs);
            table.settle();
            CHECK(!why(here).code);
            CHECK(!why(there).code);
        }
        theirs.label = "second";
        auto here = call_here();
        auto there = table[1].issue(theirs);
        table.settle();
        CHECK(told(table, "labelled \"first\"", "labelled \"second\"", 4));
        CHECK(why(here).code == error::mismatch);
    }
}

TEST_CASE("a rank whose part is done already still tells its label") {
    test::table table(2);
    std::vector<float> data(4), more(4), there(4);
    std::string label = "weights";
    auto done = table[0].issue(labelled(asking(collective::broadcast, data), label.c_str()));
    table.settle();
    CHECK(!why(done).code);
    label.assign(label.size(), 'x');  // which is the caller's again
    auto waiting = table[1].issue(labelled(asking(collective::broadcast, there), "biases"));
    table.settle();
    CHECK(why(waiting).code == error::mismatch);
    REQUIRE(table[0].failures.size() == 1);
    CHECK(
        table[0].failures[0].cause ==
        "rank 0 called broadcast f32 count 4 root 0 labelled \"weights\" where rank 1 called broadcast f32 count 4 root 0 labelled \"biases\" "
        "(operation #1)");
}

TEST_CASE("a label that its rank does not tell is named by its digest, after a while") {
    test::table table(2);
    table.mute();
    std::vector<float> one(4), other(4);
    auto mine = table[0].issue(labelled(asking(collective::all_reduce, one), "loss"));
    auto theirs = table[1].issue(labelled(asking(collective::all_reduce, other), "accuracy"));
    table.settle();
    const report late = why(mine);
    CHECK(late.elapsed == label_patience);
    CHECK(late.cause == differing(0, "labelled \"loss\"", 1, fmt::format("labelled #{:06x}", digest_of_label("accuracy"))));
    CHECK(!!why(theirs).code);
}

TEST_CASE("ranks that wait for each other under different labels, without a frame between them, are told") {
    engine_settings settings;
    settings.forced = {find(collective::all_reduce, "star")};
    test::table table(2, settings);
    table.by_hand();  // so no frame comes
    std::vector<float> one(4), other(4);
    auto mine = table[0].issue(labelled(asking(collective::all_reduce, one), "loss"), std::chrono::minutes(5));
    auto theirs = table[1].issue(labelled(asking(collective::all_reduce, other), "accuracy"), std::chrono::minutes(5));
    table.settle();
    CHECK(told(table, "labelled \"loss\"", "labelled \"accuracy\""));
}

TEST_CASE("every other difference is told as before, whatever the labels") {
    test::table table(2);
    std::vector<float> one(4), other(5);
    auto mine = table[0].issue(labelled(asking(collective::all_reduce, one), "loss"));
    auto theirs = table[1].issue(labelled(asking(collective::all_reduce, other), "accuracy"));
    table.settle();
    const report seen = why(mine);
    CHECK(seen.cause == "rank 0 called all_reduce f32 sum count 4 where rank 1 called all_reduce f32 sum count 5 (operation #1)");
    CHECK(seen.label == "loss");
}
