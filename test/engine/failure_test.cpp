// How operations end that do not end well: deadlines, cancelled and dropped futures, failures, shutting down.
#include "engine/table.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tutti;
using test::asking;
using test::why;

namespace {

report because(error code, std::string cause) {
    report why;
    why.code = code;
    why.cause = std::move(cause);
    return why;
}

/// Two ranks with an all-reduce half done: links and slices are small, and no one plays rank 1's part of the lanes yet.
struct half_done {
    explicit half_done(int lanes = 1) : table(2, small_slices(lanes), 300) {
        for (const rank me : {0, 1}) memory[me].assign(5000, 1);
        ends.push_back(table[0].issue(asking(collective::all_reduce, memory[0])));
        table.settle();  // sends what the link takes
    }
    static engine_settings small_slices(int lanes) {
        engine_settings settings;
        settings.slice_bytes = 64;
        settings.small_bytes = 64;
        settings.lanes = lanes;
        return settings;
    }
    test::table table;
    std::vector<float> memory[2];
    std::vector<future<>> ends;
};

}  // namespace

TEST_CASE("a deadline names the ranks that are waited for, and the operation") {
    test::table table(4);
    std::vector<std::vector<float>> data(4, std::vector<float>(10, 1));
    request what = asking(collective::all_reduce, data[0]);
    what.deadline = std::chrono::milliseconds(1500);
    what.label = "gradients of layer 3";
    auto first = table[0].issue(what);
    request there = asking(collective::all_reduce, data[1]);
    there.label = what.label;
    auto second = table[1].issue(there);
    table.settle();
    const report told = why(first);
    CHECK(told.code == error::timed_out);
    CHECK(told.cause == "rank 0 waited 1.5 s in all_reduce f32 sum count 10 #1 for rank 2");
    CHECK(told.peers == std::vector<rank>{2});
    CHECK(told.label == "gradients of layer 3");
    CHECK(told.operation == "all_reduce f32 sum count 10");
    CHECK(told.sequence == 1);
    CHECK(told.local == 0);
    CHECK(told.epoch == 7);
    CHECK(told.communicator == "table");
    CHECK(told.elapsed == std::chrono::milliseconds(1500));
    CHECK(told.total_bytes > told.done_bytes);
    CHECK(table[0].failures.size() == 1);
    CHECK_FALSE(second.ready());  // the others are told by the observer
}

TEST_CASE("a deadline names several ranks in a list") {
    engine_settings settings;
    settings.forced = {find(collective::all_gather, "direct")};  // from all others at once, those before it first
    test::table table(4, settings);
    std::vector<float> data[] = {{1, 2, 3}, {4, 5, 6}}, all[] = {std::vector<float>(12), std::vector<float>(12)};
    std::vector<future<>> called;
    for (const rank me : {0, 2}) {
        request what = asking(collective::all_gather, data[me / 2]);
        what.input = data[me / 2].data();
        what.output = all[me / 2].data();
        if (me == 0) what.deadline = std::chrono::seconds(2);
        called.push_back(table[me].issue(what));
    }
    table.settle();
    const report told = why(called[0]);
    CHECK(told.peers == std::vector<rank>{3, 1});
    CHECK(told.cause == "rank 0 waited 2 s in all_gather f32 count 3 #1 for ranks 3, 1");
}

TEST_CASE("the communicator's deadline counts where a call gives none, and the largest duration is none") {
    test::table table(2);
    std::vector<float> data(10);
    auto patient = table[0].issue(asking(collective::all_reduce, data), duration::max());
    table.settle();
    CHECK_FALSE(patient.ready());
    std::vector<float> third(10);
    auto hasty = table[0].issue(asking(collective::all_reduce, third), std::chrono::seconds(3));
    table.settle();
    CHECK(why(hasty).code == error::timed_out);
    CHECK(why(patient).cause == "rank 0 waited 3 s in all_reduce f32 sum count 10 #2 for rank 1");
}

TEST_CASE("an operation that ends in time never meets its deadline") {
    test::table table(2);
    std::vector<float> one{1}, other{2};
    auto first = table[0].issue(asking(collective::all_reduce, one), std::chrono::seconds(1));
    auto second = table[1].issue(asking(collective::all_reduce, other), std::chrono::seconds(1));
    table.settle();  // to the end of time
    CHECK(!why(first).code);
    CHECK(!why(second).code);
    CHECK(table[0].failures.empty());
}

TEST_CASE("a dropped future lets go of its memory at once") {
    for (const int lanes : {1, 2, 4}) {
        CAPTURE(lanes);
        half_done with(lanes);
        {
            // Freed while the transfer is in the middle: sanitizers see any touch, and so does the pattern.
            const auto gone = std::move(with.ends.back());
            with.ends.clear();
        }
        std::fill(with.memory[0].begin(), with.memory[0].end(), 77.0f);
        auto other = with.table[1].issue(asking(collective::all_reduce, with.memory[1]), std::chrono::seconds(1));
        with.table.settle();
        CHECK(std::count(with.memory[0].begin(), with.memory[0].end(), 77.0f) == 5000);
        REQUIRE(with.table[0].failures.size() == 1);
        const report& told = with.table[0].failures[0];
        CHECK(told.code == error::cancelled);
        CHECK(told.cause == "rank 0 ended all_reduce f32 sum count 5000 #1 early: its future was dropped before the end");
        CHECK(told.root == 0);
        CHECK(why(other).code);
    }
}

TEST_CASE("memory may be freed as soon as the dropped future is gone") {
    for (const int lanes : {1, 2, 4}) {
        CAPTURE(lanes);
        test::table table(3, half_done::small_slices(lanes), 300);  // and the third rank is missing
        std::vector<float> theirs(5000, 2);
        auto other = table[1].issue(asking(collective::all_reduce, theirs), duration::max());
        {
            auto mine = std::make_unique<std::vector<float>>(5000, 1.0f);
            auto called = table[0].issue(asking(collective::all_reduce, *mine));
            table.settle();
        }
        table.settle();
        CHECK(table[0].failures.size() == 1);
    }
}

TEST_CASE("a receiver's dropped future lets go of memory into which a frame is arriving") {
    test::table table(2, engine_settings(), 300);
    std::vector<float> data(5000, 1), there(5000, 7);
    auto sent = table[0].send(data, 1, 0, std::chrono::seconds(1));
    table.by_hand();
    {
        auto received = table[1].recv(there, 0);
        table.connect(0, 1, lane_kind::point);
        // The sender fills the link; half a frame may lie in the receiver's memory already.
    }
    std::fill(there.begin(), there.end(), 77.0f);
    table.settle();
    CHECK(std::count(there.begin(), there.end(), 77.0f) == 5000);
}

TEST_CASE("a cancelled future ends once, with cancelled, and everything else with it") {
    half_done with;
    std::vector<float> more(10);
    auto second = with.table[0].issue(asking(collective::all_reduce, more));
    with.ends[0].cancel();
    with.ends[0].cancel();
    with.table.settle();
    CHECK(why(with.ends[0]).code == error::cancelled);
    const report told = why(second);
    CHECK(told.code == error::cancelled);
    CHECK(told.cause == "rank 0 ended all_reduce f32 sum count 5000 #1 early: it was cancelled");
    CHECK(told.sequence == 2);
    CHECK(with.table[0].failures.size() == 1);
}

TEST_CASE("cancelling what has ended changes nothing") {
    test::table table(2);
    std::vector<float> one{1}, other{2};
    auto first = table[0].issue(asking(collective::all_reduce, one));
    auto second = table[1].issue(asking(collective::all_reduce, other));
    table.settle();
    first.cancel();
    table.settle();
    CHECK(!why(first).code);
    CHECK(!why(second).code);
    CHECK(table[0].failures.empty());
}

TEST_CASE("the first cause ends everything, and everything that is called later") {
    half_done with;
    auto& engine = with.table[0].engine();
    engine.fail(because(error::peer_died, "rank 1 died"));
    engine.fail(because(error::aborted, "somebody else was quicker"));
    engine.fail_and_tell(because(error::timed_out, "much too late"));
    std::vector<float> more(10);
    auto later = with.table[0].issue(asking(collective::all_reduce, more));
    CHECK(later.ready());
    with.table.settle();
    CHECK(why(with.ends[0]).cause == "rank 1 died");
    const report told = why(later);
    CHECK(told.code == error::peer_died);
    CHECK(told.cause == "rank 1 died");
    CHECK(told.sequence == 0);
    CHECK(with.table[0].failures.empty());  // who told the engine knows
}

TEST_CASE("a failure that the engine is asked to tell is told once") {
    test::table table(2);
    table[0].engine().fail_and_tell(because(error::aborted, "enough"));
    table[0].engine().fail_and_tell(because(error::aborted, "enough of it"));
    table.settle();
    REQUIRE(table[0].failures.size() == 1);
    CHECK(table[0].failures[0].cause == "enough");
}

TEST_CASE("a lane that comes after the failure is closed") {
    test::table table(2);
    table[0].engine().fail(because(error::aborted, "enough"));
    const auto played = table.play(0, 1, lane_kind::small);
    std::byte one{};
    const std::span<std::byte> part(&one, 1);
    CHECK(played->try_recv(std::span(&part, 1)).code == error::peer_died);
}

TEST_CASE("a failure closes the lanes, so the other side sees an end") {
    for (const int lanes : {1, 2, 4}) {
        CAPTURE(lanes);
        half_done with(lanes);
        std::vector<float> data(5000);
        auto other = with.table[1].issue(asking(collective::all_reduce, data), std::chrono::seconds(60));
        with.table[0].engine().fail(because(error::aborted, "enough"));
        with.table.settle();
        REQUIRE(with.table[1].lost.size() == static_cast<std::size_t>(lanes));
        CHECK(with.table[1].lost[0].first == 0);
    }
}

TEST_CASE("more operations than the limit fail the communicator, because the others count them") {
    engine_settings settings;
    settings.pending_limit = 3;
    test::table table(2, settings);
    std::vector<future<>> ends;
    for (int index = 0; index < 3; ++index) ends.push_back(table[0].issue(test::asking_barrier()));
    CHECK_FALSE(ends.back().ready());
    ends.push_back(table[0].issue(test::asking_barrier()));
    CHECK(ends.back().ready());
    table.settle();
    for (auto& each : ends) {
        const report told = why(each);
        CHECK(told.code == error::invalid_argument);
        CHECK(told.cause == "rank 0 called barrier with 3 operations under way, which is the limit");
    }
    CHECK(table[0].failures.size() == 1);
}

TEST_CASE("the limit counts what is under way, not what was") {
    engine_settings settings;
    settings.pending_limit = 1;
    test::table table(2, settings);
    for (int index = 0; index < 5; ++index) {
        auto one = table[0].issue(test::asking_barrier());
        auto other = table[1].issue(test::asking_barrier());
        table.settle();
        CHECK(!why(one).code);
        CHECK(!why(other).code);
    }
}

TEST_CASE("shutting down ends what has not even started, what is half done, and what is called later") {
    for (const int lanes : {1, 2, 4}) {
        CAPTURE(lanes);
        half_done with(lanes);
        std::vector<float> more(10), late(10);
        auto fresh = with.table[0].issue(asking(collective::all_reduce, more));
        with.table[0].engine().shut_down();
        CHECK(fresh.ready());
        CHECK(with.ends[0].ready());
        auto later = with.table[0].issue(asking(collective::all_reduce, late));
        for (auto* each : {&fresh, &with.ends[0], &later}) {
            const report told = why(*each);
            CHECK(told.code == error::closed);
            CHECK(told.cause == "the communicator was closed");
        }
        with.table[0].engine().shut_down();
        with.table.settle();
        CHECK(with.table[0].failures.empty());
    }
}

TEST_CASE("shutting down after a failure keeps its cause") {
    half_done with;
    with.table[0].engine().fail(because(error::aborted, "enough"));
    with.table[0].engine().shut_down();
    CHECK(why(with.ends[0]).cause == "enough");
    std::vector<float> late(10);
    auto later = with.table[0].issue(asking(collective::all_reduce, late));
    CHECK(why(later).cause == "enough");
}

TEST_CASE("shutting down between the end of an operation and its news keeps the result") {
    test::table table(1);
    std::vector<float> data{4};
    auto called = table[0].issue(asking(collective::all_reduce, data));
    table.settle();
    table[0].engine().shut_down();
    CHECK(!why(called).code);
}

TEST_CASE("a goodbye while somebody waits says who left") {
    for (const int lanes : {1, 2, 4}) {
        CAPTURE(lanes);
        test::table table(2, half_done::small_slices(lanes));
        std::vector<float> data(100), more(100);
        auto first = table[0].issue(asking(collective::all_reduce, data));
        auto other = table[1].issue(asking(collective::all_reduce, more));
        table.settle();
        CHECK(!why(first).code);
        CHECK(!why(other).code);
        auto waits = table[0].issue(asking(collective::all_reduce, data));
        table.settle();
        table[1].engine().say_goodbye();
        table.settle();
        const report told = why(waits);
        CHECK(told.code == error::peer_left);
        CHECK(told.cause == "rank 1 left while rank 0 waited for it in all_reduce f32 sum count 100 #2");
        CHECK(told.root == 1);
        CHECK(table[0].failures.size() == 1);
    }
}

TEST_CASE("a goodbye when nobody waits ends nothing, and the link's end after it is not a loss") {
    for (const int lanes : {1, 2, 4}) {
        CAPTURE(lanes);
        test::table table(2, half_done::small_slices(lanes));
        std::vector<float> data(100), more(100);
        auto first = table[0].issue(asking(collective::all_reduce, data));
        auto other = table[1].issue(asking(collective::all_reduce, more));
        table.settle();
        for (int turn = 0; turn < 2; ++turn) table[1].engine().say_goodbye();  // once is enough
        table[1].engine().shut_down();
        table.settle();
        CHECK(table[0].failures.empty());
        CHECK(table[0].lost.empty());
        CHECK(table[0].engine().idle());
        CHECK(!why(first).code);
        CHECK(!why(other).code);
    }
}

TEST_CASE("an operation with a rank that has left before there was a lane fails at once") {
    test::table table(2);
    table.by_hand();
    std::vector<float> data(10);
    auto called = table[0].issue(asking(collective::all_reduce, data));
    table.settle();
    table[0].engine().peer_left(1, lane_kind::small);
    table.settle();
    CHECK(why(called).code == error::peer_left);
}

TEST_CASE("an engine is idle when nothing is under way, and not before") {
    test::table table(2);
    CHECK(table[0].engine().idle());
    auto one = table[0].issue(test::asking_barrier());
    CHECK_FALSE(table[0].engine().idle());
    table.settle();
    CHECK_FALSE(table[0].engine().idle());
    auto other = table[1].issue(test::asking_barrier());
    table.settle();
    CHECK(table[0].engine().idle());
    CHECK(!why(one).code);
    CHECK(!why(other).code);
}
