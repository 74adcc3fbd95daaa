// Operations that wait until others have ended: how many begin, in which order, and how they end when those do not.
#include "engine/put.hpp"
#include "engine/repeated_call.hpp"
#include "engine/table.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>

using namespace tutti;
using test::asking;
using test::why;

namespace {

/// Vectors of up to 64 bytes are small here, and two of those, or of longer ones, fill what may be under way.
engine_settings narrow() {
    engine_settings settings;
    settings.forced = {find(collective::all_reduce, "recursive_doubling")};
    settings.small_bytes = 64;
    settings.most_under_way = 128;
    return settings;
}

/// Two ranks, of which the test plays the second: what the first sends of its own accord.
struct half {
    half() : at(2, narrow()) {
        at.by_hand();
        small = at.play(0, 1, lane_kind::small);
        bulk = at.play(0, 1, lane_kind::bulk);
    }
    future<> call(std::vector<float>& data, duration deadline = duration::max()) {
        return at[0].issue(asking(collective::all_reduce, data), deadline);
    }
    std::size_t frames(tutti::link& from, std::size_t payload_bytes) {
        at.settle();
        std::vector<std::byte> all(4096);
        const std::span<std::byte> part(all);
        const std::size_t came = from.try_recv(std::span(&part, 1)).bytes;
        CHECK(came % (frame_bytes + payload_bytes) == 0);
        return came / (frame_bytes + payload_bytes);
    }
    test::table at;
    std::unique_ptr<tutti::link> small, bulk;
};

}  // namespace

TEST_CASE("operations begin while those under way are short, and on each kind of lane by itself") {
    for (const std::size_t bytes : {4U, 32U, 64U, 128U, 400U}) {
        CAPTURE(bytes);
        half all;
        std::vector<std::vector<float>> data(100, std::vector<float>(bytes / sizeof(float)));
        std::vector<float> other(bytes > 64 ? 1 : 100);
        std::vector<future<>> calls;
        for (auto& each : data) calls.push_back(all.call(each));
        calls.push_back(all.call(other));
        CHECK(all.frames(bytes > 64 ? *all.bulk : *all.small, bytes) == (bytes == 4 ? 32 : bytes == 32 ? 4 : 2));
        CHECK(all.frames(bytes > 64 ? *all.small : *all.bulk, other.size() * sizeof(float)) == 1);
    }
}

TEST_CASE("whatever waits for whatever else, all operations end, with the right sums") {
    for (const int size : {1, 2, 3, 5}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            CAPTURE(size);
            CAPTURE(seed);
            engine_settings settings = narrow();
            settings.forced.clear();
            settings.slice_bytes = 64;
            settings.lanes = seed % 3 == 0 ? 2 : 1;
            test::table table(size, settings, seed % 2 == 0 ? 300 : 256 * KiB);
            std::mt19937_64 random{seed};
            constexpr std::size_t operations = 60;
            std::vector<std::size_t> counts(operations);
            for (std::size_t& each : counts) each = random() % 3 == 0 ? random() % 200 : random() % 12;
            std::vector<std::vector<std::vector<float>>> data(static_cast<std::size_t>(size));
            std::vector<std::vector<future<>>> calls(static_cast<std::size_t>(size));
            for (auto& each : data)
                for (const std::size_t count : counts) each.emplace_back(count, 1.0F);
            const auto call = [&](rank who) {
                auto& made = calls[static_cast<std::size_t>(who)];
                const std::size_t index = made.size();
                const auto kind = counts[index] % 2 == 0 ? collective::all_reduce : collective::broadcast;
                made.push_back(table[who].issue(
                    asking(kind, data[static_cast<std::size_t>(who)][index], sum, kind == collective::broadcast ? size - 1 : 0)));
            };
            // Each rank calls when it likes.
            for (std::size_t left = operations * static_cast<std::size_t>(size); left > 0;) {
                const auto who = static_cast<rank>(random() % static_cast<std::size_t>(size));
                if (calls[static_cast<std::size_t>(who)].size() == operations) continue;
                call(who);
                --left;
                if (random() % 8 == 0) table.settle();
            }
            table.settle();
            for (auto& rank_calls : calls)
                for (auto& each : rank_calls) REQUIRE(!why(each).code);
            for (const auto& of_rank : data)
                for (std::size_t index = 0; index < operations; ++index)
                    CHECK(of_rank[index] == std::vector<float>(counts[index], counts[index] % 2 == 0 ? static_cast<float>(size) : 1.0F));
        }
    }
}

TEST_CASE("persistent calls wait for their turn each time they start") {
    test::table table(2, narrow());
    std::vector<std::vector<float>> data(12, std::vector<float>(100));
    std::vector<std::unique_ptr<tutti::detail::repeated_call>> kept;
    for (std::size_t index = 0; index < data.size(); ++index)
        kept.push_back(table[static_cast<rank>(index % 2)].engine().keep(asking(collective::all_reduce, data[index]), duration::max()));
    for (int start = 1; start <= 3; ++start) {
        CAPTURE(start);
        for (auto& each : data) each.assign(100, 1);
        std::vector<future<>> calls;
        for (std::size_t index = 0; index < data.size(); ++index)
            calls.emplace_back(table[static_cast<rank>(index % 2)].engine().issue(*kept[index]));
        table.settle();
        for (auto& each : calls) REQUIRE(!why(each).code);
        for (const auto& each : data) CHECK(each == std::vector<float>(100, 2));
    }
}

TEST_CASE("where nothing is said a MiB is under way within a host, and whatever was called between hosts") {
    constexpr std::size_t elements = 16 * KiB, called = 40;  // of 64 KiB
    constexpr std::array apart{0, 1};
    const std::pair<host_map, std::size_t> cases[] = {{host_map(), 16}, {host_map(apart), called}};
    for (const auto& [hosts, begun] : cases) {
        CAPTURE(begun);
        engine_settings settings;
        settings.forced = {find(collective::all_reduce, "recursive_doubling")};
        test::table table(2, settings, 64 * MiB, hosts);
        table.by_hand();
        const auto played = table.play(0, 1, lane_kind::small);
        std::vector<std::vector<float>> data(called, std::vector<float>(elements));
        std::vector<future<>> calls;
        for (auto& each : data) calls.push_back(table[0].issue(asking(collective::all_reduce, each)));
        table.settle();
        std::vector<std::byte> all(64 * MiB);
        const std::span<std::byte> part(all);
        CHECK(played->try_recv(std::span(&part, 1)).bytes == begun * (frame_bytes + elements * sizeof(float)));
    }
}

TEST_CASE("the deadline of an operation that has not begun passes, and the error says what it waits for") {
    half all;
    std::vector<std::vector<float>> data(4, std::vector<float>(100));
    std::vector<future<>> calls;
    for (std::size_t index = 0; index < 3; ++index) calls.push_back(all.call(data[index]));
    auto late = all.call(data[3], std::chrono::seconds(2));
    all.at.settle();
    const report told = why(late);
    CHECK(told.code == error::timed_out);
    CHECK(told.sequence == 4);
    CHECK(told.peers == std::vector<rank>{1});
    CHECK(told.cause ==
          "rank 0 waited 2 s in all_reduce f32 sum count 100 #4, which begins when all_reduce f32 sum count 100 #1 has ended, "
          "for rank 1");
    for (auto& each : calls) CHECK(why(each).code == error::timed_out);
}

TEST_CASE("operations that have not begun end with the others, whatever ends those") {
    half all;
    std::vector<std::vector<float>> data(6, std::vector<float>(100));
    std::vector<future<>> calls;
    for (auto& each : data) calls.push_back(all.call(each));
    all.at.settle();
    SUBCASE("a dropped future") {
        calls.pop_back();
        all.at.settle();
        for (auto& each : calls) CHECK(why(each).code == error::cancelled);
    }
    SUBCASE("the communicator goes") {
        all.at[0].engine().drop();
        all.at.settle();
        for (auto& each : calls) CHECK(why(each).code == error::aborted);
    }
    SUBCASE("the engine is shut down") {
        all.at[0].engine().shut_down();
        for (auto& each : calls) CHECK(why(each).code == error::closed);
    }
}

TEST_CASE("ranks that disagree about an operation that has not begun hear of it when one asks") {
    test::table table(2, narrow());
    table.by_hand();
    std::vector<std::vector<float>> data(4, std::vector<float>(100));
    std::vector<float> other(99);
    std::vector<future<>> calls;
    for (auto& each : data) calls.push_back(table[0].issue(asking(collective::all_reduce, each)));
    call_signature theirs = describe(asking(collective::all_reduce, other));
    theirs.algorithm = static_cast<std::uint8_t>(number(*find(collective::all_reduce, "recursive_doubling")));
    table[0].engine().compare(1, 4, theirs);
    table.settle();
    const report told = why(calls.back());
    CHECK(told.code == error::mismatch);
    CHECK(told.cause == "rank 0 called all_reduce f32 sum count 100 where rank 1 called all_reduce f32 sum count 99 (operation #4)");
}
