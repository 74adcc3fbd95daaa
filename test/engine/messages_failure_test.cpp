// How messages end when they do not end well: who is told what, and what is touched no more.
#include "engine/put.hpp"
#include "engine/table.hpp"
#include "support/allocations.hpp"

#include <doctest/doctest.h>

#include <new>
#include <optional>

using namespace tutti;
using namespace std::chrono_literals;
using test::put;
using test::why;

namespace {

frame frame_of(frame_kind kind, std::uint64_t number, std::size_t payload_bytes = 0, std::size_t count = 0, message_tag tag = 0) {
    frame head;
    head.kind = kind;
    head.epoch = 7;
    head.sequence = number;
    head.payload_bytes = payload_bytes;
    head.what.count = count;
    head.what.digest = tag;
    return head;
}

}  // namespace

TEST_CASE("a deadline names the peers that are waited for, and what has come instead") {
    struct row {
        const char* cause;
        std::vector<rank> peers;
        int which;
    };
    const row rows[] = {
        {"rank 0 waited 2 s in send f32 count 10000 to rank 1 tag 5 for rank 1", {1}, 0},
        {"rank 0 waited 2 s in recv f32 count 10000 from rank 2 tag 5 for rank 2; unmatched messages from there: 2", {2}, 1},
        {"rank 0 waited 2 s in recv f32 count 10000 from any rank tag 5 for any rank; unmatched messages from there: 2", {}, 2},
        {"rank 0 waited 2 s in probe from rank 1 with any tag for rank 1", {1}, 3},
        {"rank 0 waited 2 s in exchange of 3 messages for ranks 1, 2", {1, 2}, 4},
    };
    for (const row& each : rows) {
        CAPTURE(each.cause);
        test::table table(3);
        std::vector<float> data(10'000), few(1), other(10'000);
        auto first = table[2].send(few, 0, 1), second = table[2].send(few, 0, 2);
        table.settle();
        future<> plain;
        future<received> telling;
        if (each.which == 0) plain = table[0].send(data, 1, 5, 2s);
        else if (each.which == 1) telling = table[0].recv(data, 2, 5, 2s);
        else if (each.which == 2) telling = table[0].recv(data, any_source, 5, 2s);
        else if (each.which == 3) telling = table[0].probe(1, any_tag, 2s);
        else plain = table[0].exchange({send_to(buffer(std::span(data)), 1, 5), recv_from(buffer(std::span(other)), 2, 5), recv_from(buffer(std::span(few)), 2, 1)}, 2s);
        table.settle();
        const report told = each.which == 0 || each.which == 4 ? why(plain) : why(telling);
        CHECK(told.code == error::timed_out);
        CHECK(told.cause == each.cause);
        CHECK(told.peers == each.peers);
        CHECK(told.elapsed == 2s);
        CHECK(table[0].failures.size() == (each.which == 0 || each.which == 4 ? 1 : 0));  // a send is left
    }
}

TEST_CASE("messages that end in time never meet their deadline, the parts of an exchange included") {
    test::table table(2);
    std::vector<float> data(10'000), there(10'000);
    auto sent = table[0].send(data, 1, 0, 1s);
    auto got = table[1].recv(there, 0, 0, 1s);
    auto self = table[0].exchange({send_to(buffer(std::span(data)), 0), recv_from(buffer(std::span(data)), 0)}, 1s);
    table.settle();
    CHECK(!why(sent).code);
    CHECK(!why(got).code);
    CHECK(!why(self).code);
    CHECK(table[0].failures.empty());
}

TEST_CASE("an exchange that finds no memory for its parts is not under way, and may be tried again" *
          doctest::skip(!test::counts_allocations)) {
    test::table table(1);
    std::vector<float> data{1, 2, 3}, there(3);
    const std::span from(data), to(there);
    const std::vector<transfer> parts{recv_from(buffer(to.first(1)), 0, 1), recv_from(buffer(to.last(2)), 0, 2),
                                      send_to(buffer(from.first(1)), 0, 1), send_to(buffer(from.last(2)), 0, 2)};
    std::size_t times = 0;
    for (std::optional<future<>> begun; !begun; ++times) {
        const test::scarce_memory now(times);
        try {
            begun = table[0].exchange(parts, 1s);
        } catch (const std::bad_alloc&) {}
    }
    CHECK(times > 5);  // a message and its parts
    CHECK(there == data);
    auto got = table[0].recv(there, 0, 9);  // so that the loop looks at what is under way
    auto sent = table[0].send(data, 0, 9);
    table.settle();
    CHECK(!why(got).code);
    CHECK(table[0].failures.empty());  // no deadline was missed
}

TEST_CASE("a cancelled send fails everything, a cancelled or dropped probe nothing") {
    test::table table(2);
    std::vector<float> data(10'000), there(10);
    auto probing = table[0].probe(1, 3);
    { auto dropped = table[0].probe(any_source, 3); }
    probing.cancel();
    table.settle();
    CHECK(why(probing).code == error::cancelled);
    CHECK(table[0].failures.empty());
    auto waiting = table[0].recv(there, 1, 4);
    auto exchanged = table[0].exchange({send_to(buffer(std::span(data)), 1, 5)});
    exchanged.cancel();
    table.settle();
    CHECK(why(exchanged).cause == "rank 0 ended exchange of 1 messages early: it was cancelled");
    CHECK(why(waiting).code == error::cancelled);
    CHECK(table[0].failures.size() == 1);
}

TEST_CASE("dropped messages let go of their memory at once, in every state") {
    for (const bool receiving : {true, false})
        for (const int turns : {0, 1, 2}) {
            engine_settings settings;
            settings.slice_bytes = 1000;
            test::table table(2, settings, 300);
            std::vector<float> theirs(50'000, 1);
            auto mine = std::make_unique<std::vector<float>>(50'000, 2.0f);
            table.by_hand();
            if (turns > 0) table.connect(0, 1, lane_kind::point);
            future<> dropped, sent;
            future<received> got;
            if (receiving) sent = table[1].send(theirs, 0, 1, 1s);
            else got = table[1].recv(theirs, 0, 1, 1s);
            if (turns > 1) table.settle();  // an offer is there, or a receive; then the other end is past its time
            {
                future<received> recv_here;
                future<> send_here;
                if (receiving) recv_here = table[0].recv(*mine, 1, 1);
                else send_here = table[0].send(*mine, 1, 1);
            }
            mine.reset();
            table.settle();
            CHECK(table[0].failures.size() == (receiving ? 0 : 1));  // a receive ends alone
            if (!receiving) CHECK(table[0].failures[0].code == error::cancelled);
        }
}

TEST_CASE("a rank that leaves fails those who wait for its messages, and nobody else") {
    test::table table(3);
    std::vector<float> data(3, 6), there(3), more(3);
    auto early = table[1].send(data, 0, 1);
    table.settle();
    for (int turn = 0; turn < 2; ++turn) table[1].engine().say_goodbye();  // once is enough
    table.settle();
    auto open = table[0].recv(more, any_source, 9);  // rank 2 may still send
    auto kept = table[0].recv(there, 1, 1);
    table.settle();
    CHECK(!why(early).code);
    CHECK(!why(kept).code);
    CHECK(there == data);
    CHECK(table[0].failures.empty());
    auto probing = table[0].probe(1, any_tag);
    table.settle();
    CHECK(why(probing).cause == "rank 1 left while rank 0 waited in probe from rank 1 with any tag");
    CHECK(table[0].failures.empty());
    auto late = table[0].recv(there, 1, 1);
    table.settle();
    const report told = why(late);
    CHECK(told.code == error::peer_left);
    CHECK(told.cause == "rank 1 left while rank 0 waited in recv f32 count 3 from rank 1 tag 1");
    CHECK(told.root == 1);
    CHECK(why(open).code == error::peer_left);
}

TEST_CASE("a receive of any source fails when all others have left, also those that never had a lane") {
    test::table table(3);
    std::vector<float> there(3);
    auto open = table[0].recv(there, any_source, 9);
    table.settle();
    table[0].engine().peer_left(1, lane_kind::point);
    table[0].engine().peer_left(1, lane_kind::point);
    table.settle();
    CHECK_FALSE(open.ready());
    table[0].engine().peer_left(2, lane_kind::point);
    table.settle();
    CHECK(why(open).code == error::peer_left);
    std::vector<float> here(3);
    auto late = table[0].send(here, 1, 0);
    CHECK(why(late).code == error::peer_left);
}

TEST_CASE("a send to a rank that has left fails") {
    test::table table(2);
    table[0].engine().peer_left(1, lane_kind::point);
    std::vector<float> data(3);
    auto late = table[0].send(data, 1, 2);
    table.settle();
    CHECK(why(late).cause == "rank 1 left while rank 0 waited in send f32 count 3 to rank 1 tag 2");
}

TEST_CASE("frames that no correct rank sends are protocol errors, and write nothing") {
    struct row {
        const char* cause;
        frame head;
    };
    constexpr std::size_t huge = std::size_t{1} << 62;
    frame other_epoch = frame_of(frame_kind::message, 1, 16, 4), no_type = frame_of(frame_kind::message, 1, 16, 4), second_slice = frame_of(frame_kind::data, 1, 16);
    other_epoch.epoch = 8;
    no_type.what.type = 99;
    second_slice.slice = 1;
    const row rows[] = {
        {"rank 1 sent a frame of epoch 8, this is epoch 7", other_epoch},
        {"rank 1 sent a message #5 of type 0 count 4 in a frame of 16 bytes, rank 0 waits for message #1",
         frame_of(frame_kind::message, 5, 16, 4)},
        {"rank 1 sent a message #1 of type 99 count 4 in a frame of 16 bytes, rank 0 waits for message #1", no_type},
        {"rank 1 sent a message #1 of type 0 count 5 in a frame of 16 bytes, rank 0 waits for message #1",
         frame_of(frame_kind::message, 1, 16, 5)},
        {"rank 1 sent a message #1 of type 0 count 4611686018427387904 in a frame of 0 bytes, rank 0 waits for message #1",
         frame_of(frame_kind::offer, 1, 0, huge)},
        {"rank 1 sent message #1 of 2000000 bytes without the credits for it", frame_of(frame_kind::message, 1, 2'000'000, 500'000)},
        {"rank 1 sent bytes of message #1, which rank 0 has not asked for", frame_of(frame_kind::data, 1, 16)},
        {"rank 1 sent bytes of message #1, which rank 0 has not asked for", second_slice},
        {"rank 1 asked for message #1, which rank 0 does not offer", frame_of(frame_kind::go, 1)},
        {"rank 1 sent a frame that does not belong on a point lane", frame_of(frame_kind::release, 1)},
        {"rank 1 sent a frame that does not belong on a point lane", frame_of(frame_kind::credit, 0, 3)},
    };
    for (const row& each : rows) {
        CAPTURE(each.cause);
        test::table table(2, engine_settings(), 4 * MiB);
        table.by_hand();
        const auto played = table.play(0, 1, lane_kind::point);
        std::vector<float> data(1'000'000, 1);
        auto called = table[0].recv(data, 1, 0);
        put(*played, each.head, std::min<std::size_t>(each.head.payload_bytes, 2'000'000));
        table.settle();
        const report told = why(called);
        CHECK(told.code == error::protocol_error);
        CHECK(told.cause == each.cause);
        CHECK(data == std::vector<float>(1'000'000, 1));
    }
}

TEST_CASE("more offers than a rank may have messages under way are a protocol error") {
    engine_settings settings;
    settings.pending_limit = 3;
    test::table table(2, settings);
    table.by_hand();
    const auto played = table.play(0, 1, lane_kind::point);
    for (std::uint64_t number = 1; number <= 4; ++number) put(*played, frame_of(frame_kind::offer, number, 0, 1000), 0);
    table.settle();
    REQUIRE(table[0].failures.size() == 1);
    CHECK(table[0].failures[0].code == error::protocol_error);
    CHECK(table[0].failures[0].cause == "rank 1 offered message #4 while 3 of its messages were under way, which is the limit");
}

TEST_CASE("an exchange counts by its parts") {
    engine_settings settings;
    settings.pending_limit = 3;
    test::table table(2, settings);
    std::vector<float> data(3);
    const transfer one = recv_from(buffer(std::span(data)), 1);
    auto few = table[0].exchange({one, one});
    few.cancel();
    table.settle();
    CHECK(table[0].failures.empty());
    auto many = table[0].exchange({one, one, one});
    table.settle();
    CHECK(why(many).cause == "rank 0 called exchange of 3 messages with 0 messages under way; the limit is 3");
}

TEST_CASE("slices of a wrong length or out of their turn are protocol errors") {
    for (const std::uint32_t slice : {0u, 1u}) {
        engine_settings settings;
        settings.slice_bytes = 1000;
        test::table table(2, settings);
        table.by_hand();
        const auto played = table.play(0, 1, lane_kind::point);
        std::vector<float> data(1000, 1);
        auto called = table[0].recv(data, 1, 0);
        put(*played, frame_of(frame_kind::offer, 1, 0, 1000), 0);
        table.settle();
        frame wrong = frame_of(frame_kind::data, 1, slice == 0 ? 999 : 1000);
        wrong.slice = slice;
        put(*played, wrong, wrong.payload_bytes);
        table.settle();
        CHECK(why(called).cause == fmt::format("rank 1 sent {} bytes as slice {} of message #1, rank 0 waits for 1000 bytes, slice 0", wrong.payload_bytes, slice));
    }
}

TEST_CASE("more messages than the limit fail on all ranks instead of eating memory") {
    engine_settings settings;
    settings.pending_limit = 3;
    test::table table(2, settings);
    std::vector<float> data(3);
    std::vector<future<received>> got;
    for (message_tag tag = 0; tag < 4; ++tag) got.push_back(table[0].recv(data, 1, tag));
    table.settle();
    CHECK(why(got.back()).cause == "rank 0 called recv f32 count 3 from rank 1 tag 3 with 3 messages under way; the limit is 3");
    CHECK(table[0].failures.size() == 1);
}

TEST_CASE("a lost link is told, unless everybody who used it has left") {
    for (const bool left : {true, false}) {
        test::table table(2);
        table.by_hand();
        auto played = table.play(0, 1, lane_kind::point);
        if (left) put(*played, frame_of(frame_kind::goodbye, 0), 0);
        table.settle();
        played->close();
        table.settle();
        CHECK(table[0].lost.size() == (left ? 0 : 1));
    }
}
