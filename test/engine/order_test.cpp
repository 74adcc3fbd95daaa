// Which operations may be under way at the same time, and in which order they end.
#include "engine/table.hpp"

#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <random>

using namespace tutti;
using test::asking;
using test::why;

namespace {

engine_settings slices_of(std::size_t slice_bytes, int lanes = 1) {
    engine_settings settings;
    settings.slice_bytes = slice_bytes;
    settings.small_bytes = 256;
    settings.lanes = lanes;
    return settings;
}

/// Notes the end when it happens, in a line with others.
task<> note_end(future<> called, int name, std::vector<int>& order) {
    co_await std::move(called);
    order.push_back(name);
}

}  // namespace

TEST_CASE("a group of one needs no lanes") {
    test::table table(1);
    table.by_hand();
    std::vector<float> data{1, 2, 3};
    auto summed = table[0].issue(asking(collective::all_reduce, data));
    auto met = table[0].issue(test::asking_barrier());
    table.settle();
    CHECK(!why(summed).code);
    CHECK(!why(met).code);
    CHECK(data == std::vector<float>{1, 2, 3});
    CHECK(table[0].wishes.empty());
}

TEST_CASE("calls that come again in the same order get the operations they had, with plan and memory") {
    test::table table(2);
    std::vector<std::vector<float>> data[2]{std::vector<std::vector<float>>(5, {1, 2, 3}), std::vector<std::vector<float>>(5, {1, 2, 3})};
    std::vector<const operation*> first;
    for (int round = 0; round < 4; ++round) {
        std::vector<const operation*> used;
        std::vector<future<>> ends;
        for (const rank me : {0, 1})
            for (auto& each : data[me]) {
                operation& made = table[me].engine().issue(asking(collective::all_reduce, each), duration::max());
                used.push_back(&made);
                ends.push_back(future<>(made));
            }
        table.settle();
        for (auto& each : ends) CHECK(!why(each).code);
        if (round == 0) first = used;
        CHECK(used == first);
    }
}

TEST_CASE("another operator where one has been makes another call") {
    test::table table(2);
    std::optional<custom_op<float>> op;
    std::vector<float> data[2]{{1}, {2}};
    const auto last = [](float, float b) { return b; };
    for (int round = 0; round < 6; ++round) {
        op.emplace(round % 3 == 0 ? "one" : "other", round % 3 == 2 ? commutes::no : commutes::yes, last);
        std::vector<future<>> ends;
        for (const rank me : {0, 1}) {
            request what = asking(collective::all_reduce, data[me]);
            what.op = *op;
            operation& made = table[me].engine().issue(what, duration::max());
            CHECK(made.what.digest == describe(what).digest);
            ends.push_back(future<>(made));
        }
        table.settle();
        for (auto& each : ends) CHECK(!why(each).code);
    }
}

TEST_CASE("calls may say that all memory is allocated, and all ranks must say so") {
    std::vector<std::vector<float>> data(4, std::vector<float>(32 * KiB, 1));
    test::table table(4);
    const auto call = [&](rank me, bool allocated) -> operation& {
        request what = asking(collective::all_reduce, data[static_cast<std::size_t>(me)]);
        what.allocated = allocated;
        return table[me].engine().issue(what, duration::max());
    };
    float expected = 1;
    for (const bool allocated : {false, true, true, false, true}) {
        std::vector<future<>> ends;
        for (rank me = 0; me < 4; ++me) {
            operation& made = call(me, allocated);
            CHECK(made.what.allocated == allocated);
            CHECK(&catalogue()[made.what.algorithm] == &table[me].engine().chosen(collective::all_reduce, 128 * KiB));
            ends.push_back(future<>(made));
        }
        table.settle();
        expected *= 4;
        for (auto& each : ends) CHECK(!why(each).code);
        for (const auto& each : data) CHECK(each == std::vector<float>(32 * KiB, expected));
    }
    std::vector<future<>> ends;
    for (rank me = 0; me < 4; ++me) ends.push_back(future<>(call(me, me != 0)));
    table.settle();
    REQUIRE(table[0].failures.size() == 1);
    CHECK(table[0].failures[0].code == error::mismatch);
    CHECK(table[0].failures[0].cause.starts_with("rank 0 called all_reduce f32 sum count 32768 without call_options::allocated where rank"));
    CHECK(table[0].failures[0].cause.ends_with("called all_reduce f32 sum count 32768 with call_options::allocated (operation #6)"));
}

TEST_CASE("what is reduced has slices of its own length, unless all memory is allocated") {
    engine_settings settings;
    settings.slice_bytes = 64;
    std::vector<float> data[2]{std::vector<float>(256, 1), std::vector<float>(256, 1)};
    for (const std::size_t reduced : {std::size_t{16}, std::size_t{0}}) {
        CAPTURE(reduced);
        settings.reduced_slice_bytes = reduced;
        test::table table(2, settings);
        const auto slices = [&](collective kind, bool allocated) {
            std::vector<future<>> ends;
            std::size_t found = 0;
            for (const rank me : {0, 1}) {
                request what = asking(kind, data[me]);
                what.allocated = allocated;
                operation& made = table[me].engine().issue(what, duration::max());
                found = made.slices() * static_cast<std::size_t>(made.program().largest_transfer());
                ends.push_back(future<>(made));
            }
            table.settle();
            for (auto& each : ends) CHECK(!why(each).code);
            return found;
        };
        const std::size_t usual = slices(collective::broadcast, false);
        CHECK(slices(collective::broadcast, true) == usual);
        CHECK(slices(collective::reduce, false) == (reduced > 0 ? 4 * usual : usual));
        CHECK(slices(collective::reduce, true) == usual);
    }
}

TEST_CASE("an operation waits for lanes, and goes on when they are made") {
    test::table table(2);
    table.by_hand();
    std::vector<float> mine{1}, theirs{2};
    auto first = table[0].issue(asking(collective::all_reduce, mine));
    auto second = table[1].issue(asking(collective::all_reduce, theirs));
    table.settle();
    CHECK_FALSE(first.ready());
    CHECK(table[0].wishes == std::vector<std::pair<rank, lane_id>>{{1, lane_kind::small}});
    table.connect(0, 1, lane_kind::small);
    table.settle();
    CHECK(!why(first).code);
    CHECK(!why(second).code);
    CHECK(mine == std::vector<float>{3});
}

TEST_CASE("a second lane of the same kind is not used") {
    test::table table(2);
    std::vector<float> mine{1}, theirs{2};
    auto first = table[0].issue(asking(collective::all_reduce, mine));
    auto second = table[1].issue(asking(collective::all_reduce, theirs));
    table.settle();
    const auto other = table.play(0, 1, lane_kind::small);
    std::byte one{};
    const std::span<std::byte> part(&one, 1);
    CHECK(other->try_recv(std::span(&part, 1)).code == error::peer_died);  // closed at once
    CHECK(!why(first).code);
    CHECK(!why(second).code);
}

TEST_CASE("data that comes before its operation is called waits, and no memory is touched until then") {
    test::table table(2);
    std::vector<float> mine(1000, 1), theirs(1000, 2);
    auto sent = table[1].issue(asking(collective::all_reduce, theirs));
    table.settle();
    CHECK_FALSE(sent.ready());
    CHECK(mine == std::vector<float>(1000, 1));
    auto called = table[0].issue(asking(collective::all_reduce, mine));
    table.settle();
    CHECK(!why(sent).code);
    CHECK(!why(called).code);
    CHECK(mine == std::vector<float>(1000, 3));
}

TEST_CASE("a rank that is many operations ahead is caught up with, one after the other") {
    for (const int lanes : {1, 2, 4}) {
        CAPTURE(lanes);
        test::table table(2, slices_of(64, lanes), 300);
        constexpr int operations = 20;
        std::vector<std::vector<std::int32_t>> ahead, behind;
        for (int index = 0; index < operations; ++index) {
            ahead.emplace_back(100, index);
            behind.emplace_back(100, 1000);
        }
        std::vector<future<>> first, second;
        for (auto& each : ahead) first.push_back(table[0].issue(asking(collective::all_reduce, each)));
        table.settle();
        for (std::size_t index = 0; index < operations; ++index) {
            second.push_back(table[1].issue(asking(collective::all_reduce, behind[index])));
            table.settle();
            CHECK(!why(second[index]).code);
            CHECK(!why(first[index]).code);
            CHECK(behind[index] == std::vector<std::int32_t>(100, 1000 + static_cast<int>(index)));
            if (index + 1 < operations) CHECK_FALSE(first[index + 1].ready());
        }
    }
}

TEST_CASE("a call one after the other works on the memory that it names, whatever the one before it named") {
    test::table table(2);
    std::vector<float> data[2][2] = {{{1, 2, 3}, {10, 20, 30}}, {{4, 5, 6}, {40, 50, 60}}};
    const std::vector<float> once{5, 7, 9};
    std::vector<future<>> calls;
    const auto call = [&](std::size_t which, std::size_t count) {
        for (std::size_t me = 0; me < 2; ++me) {
            request what = asking(collective::all_reduce, data[me][which]);
            what.count = count;
            calls.push_back(table[static_cast<rank>(me)].issue(what));
        }
        table.settle();
        for (auto& each : calls) CHECK(!why(each).code);
        calls.clear();
    };
    call(0, 3);
    CHECK(data[1][0] == once);
    call(1, 2);
    CHECK(data[0][1] == std::vector<float>{50, 70, 30});
    CHECK(data[1][1] == std::vector<float>{50, 70, 60});
    call(0, 3);
    call(0, 3);
    CHECK(data[0][0] == std::vector<float>{20, 28, 36});
    CHECK(data[1][0] == data[0][0]);
}

TEST_CASE("operations of one lane end in the order of their calls on every rank") {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{4000}}) {
        test::table table(3, slices_of(100), 150);
        std::vector<std::vector<std::int64_t>> data(60, std::vector<std::int64_t>(bytes / 8, 1));
        std::vector<int> ended[3], expected(20);
        std::iota(expected.begin(), expected.end(), 0);
        std::vector<task<>> all;
        for (std::size_t index = 0; index < data.size(); ++index) {
            const std::size_t me = index % 3;
            all.push_back(note_end(table[static_cast<rank>(me)].issue(asking(collective::all_reduce, data[index])),
                                   static_cast<int>(index / 3), ended[me]));
        }
        run(table.loop(), when_all(std::move(all)));
        for (const auto& each : ended) CHECK(each == expected);
        for (auto& each : data) CHECK(each == std::vector<std::int64_t>(bytes / 8, 3));
    }
}

TEST_CASE("a small operation overtakes a large one that was called before it") {
    test::table table(2, slices_of(1000));
    table.by_hand();
    table.connect(0, 1, lane_kind::small);
    std::vector<float> large[2] = {std::vector<float>(1000, 1), std::vector<float>(1000, 1)}, small[2] = {{1}, {2}};
    std::vector<future<>> slow, quick;
    for (const rank me : {0, 1}) {
        const auto which = static_cast<std::size_t>(me);
        slow.push_back(table[me].issue(asking(collective::all_reduce, large[which])));
        quick.push_back(table[me].issue(asking(collective::all_reduce, small[which])));
    }
    table.settle();
    CHECK_FALSE(slow[0].ready());
    CHECK(!why(quick[0]).code);
    CHECK(!why(quick[1]).code);
    table.connect(0, 1, lane_kind::bulk);
    table.settle();
    CHECK(!why(slow[0]).code);
    CHECK(!why(slow[1]).code);
}

TEST_CASE("messages do not wait for collectives, nor collectives for messages") {
    test::table table(2);
    std::vector<float> data{1, 2, 3}, there(3), sums[2] = {{1}, {2}};
    auto received = table[1].recv(there, 0);
    auto early = table[0].issue(asking(collective::all_reduce, sums[0]));
    table.settle();
    auto sent = table[0].send(data, 1);
    table.settle();
    CHECK(!why(sent).code);
    CHECK(!why(received).code);
    CHECK(there == data);
    CHECK_FALSE(early.ready());
    auto late = table[1].issue(asking(collective::all_reduce, sums[1]));
    table.settle();
    CHECK(!why(early).code);
    CHECK(!why(late).code);
}

TEST_CASE("256 operations of random sizes under way at once all end right") {
    for (const int lanes : {1, 2, 4}) {
        CAPTURE(lanes);
        const std::uint64_t seed = 20;
        CAPTURE(seed);
        std::mt19937_64 random{seed};
        test::table table(4, slices_of(128, lanes), 500);
        std::vector<std::vector<std::int32_t>> data;
        std::vector<future<>> ends;
        for (int index = 0; index < 256; ++index) {
            const std::size_t count = random() % 3 == 0 ? random() % 2000 : random() % 20;
            for (rank me = 0; me < 4; ++me) data.emplace_back(count, index + me);
        }
        for (rank me = 0; me < 4; ++me)
            for (std::size_t index = 0; index < 256; ++index)
                ends.push_back(table[me].issue(asking(collective::all_reduce, data[index * 4 + static_cast<std::size_t>(me)])));
        table.settle();
        for (auto& each : ends) CHECK(!why(each).code);
        for (std::size_t index = 0; index < data.size(); ++index) {
            const int operation = static_cast<int>(index / 4);
            CHECK(data[index] == std::vector<std::int32_t>(data[index].size(), 4 * operation + 6));
        }
    }
}
