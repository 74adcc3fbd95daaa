// Frames whose payload the other side reads where it lies: when they count as sent, and what happens to a reference that is none.
#include "road_of_references.hpp"
#include "support/descriptors.hpp"
#include "support/sanitizers.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <utility>

namespace tutti::test {
namespace {

/// How often memory of arenas is mapped in this process.
std::size_t mapped_arenas() {
    std::ifstream all("/proc/self/maps");
    std::size_t found = 0;
    for (std::string line; std::getline(all, line);) found += line.find("tutti-arena") != std::string::npos ? 1 : 0;
    return found;
}

/// On which a cell with references that no lane sends ends the far lane.
struct breaking_road : road_of_references {
    lent good{*mine, 0, random_bytes(200'000, 1)};

    void lend_one() {
        send(good);
        settle();
        CHECK(good.times_sent == 1);
    }
    void break_with(const frame& head, std::span<const reference> wrong) {
        const std::span<const std::byte> parts[] = {std::as_bytes(wrong)};
        REQUIRE(near_end->near()->send_cell(head, parts));
        settle();
        CHECK(way->there.losses == 1);
        CHECK(way->there.code == error::protocol_error);
    }
};

}  // namespace

TEST_CASE("a lent payload arrives like any other, and its frame is sent when it has been given back") {
    road_of_references on;
    const bytes what = random_bytes(300'001, 5);
    lent one(*on.mine, 0, what);
    on.way->there.parks_from = 0;
    on.send(one);
    CHECK(one.head.references == 2);
    on.settle();
    CHECK(on.way->there.asked > 0);
    CHECK(one.times_sent == 0);  // the peer has not read it
    CHECK_FALSE(on.way->near.flushed());
    on.way->there.parks_from = ~std::uint64_t{0};
    on.way->resume();
    on.settle();
    CHECK(one.times_sent == 1);
    CHECK(on.way->near.flushed());
    REQUIRE(on.way->there.payloads.size() == 1);
    CHECK(on.way->there.payloads[0] == what);
}

TEST_CASE("lent and copied frames keep their order") {
    road_of_references on;
    std::deque<lent> all;
    for (std::uint64_t index = 0; index < 60; ++index) {
        all.emplace_back(*on.mine, index, random_bytes(index % 3 == 0 ? 100 + index : 140'000 + 10'007 * index, index + 1));
        on.send(all.back());
    }
    for (int turn = 0; turn < 200 && on.way->there.heads.size() < all.size(); ++turn) on.settle();
    on.settle();
    REQUIRE(on.way->there.heads.size() == all.size());
    for (std::uint64_t index = 0; index < all.size(); ++index) {
        CHECK(on.way->there.heads[index].sequence == index);
        CHECK((on.way->there.heads[index].references > 0) == (index % 3 != 0));
        CHECK(on.way->there.payloads[index] == random_bytes(index % 3 == 0 ? 100 + index : 140'000 + 10'007 * index, index + 1));
        CHECK(all[index].times_sent == 1);
    }
}

TEST_CASE("what is soon written again is lent only where the sides do not have a core each, or where it is answered") {
    for (const auto& [undisturbed, answered] : {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
        CAPTURE(undisturbed);
        CAPTURE(answered);
        road_of_references on;
        on.near_end->alone = undisturbed;
        const bytes what = random_bytes(200'000, 9);
        lent often(*on.mine, 0, what), seldom(*on.mine, 1, what);
        often.soon_written = true;
        if (answered) often.answer = 3;
        on.send(often);
        on.send(seldom);
        CHECK(often.head.references == (undisturbed && !answered ? 0 : 2));
        CHECK(often.head.answered == answered);
        CHECK(seldom.head.references == 2);
        on.settle();
        CHECK(on.way->there.payloads == std::vector<bytes>{what, what});
    }
}

TEST_CASE("an arena is mapped once, however many lanes lend from it") {
    event_loop loop;
    const auto mine = std::make_shared<arena>(true);
    const auto client = std::move(shm_transport::listen(loop, mine)).value();
    const auto server = std::move(shm_transport::listen(loop)).value();
    const bytes what = random_bytes(200'000, 7);
    std::deque<lent> payloads;
    std::deque<road> ways;
    const auto before = mapped_arenas();
    for (std::uint64_t lane = 0; lane < 3; ++lane) {
        auto both = run(loop, open(loop, *client, *server));
        ways.emplace_back(loop, std::move(both.one), std::move(both.other));
        payloads.emplace_back(*mine, 0, what);
        const std::lock_guard lock(ways.back().guard);
        ways.back().near.send(payloads.back());
        ways.back().near.flush();
    }
    run(loop, a_while());
    for (auto& each : ways) {
        REQUIRE(each.there.payloads.size() == 1);
        CHECK(each.there.payloads[0] == what);
    }
    CHECK(mapped_arenas() == before + 2);  // to write and to read
    ways.clear();
    CHECK(mapped_arenas() == before + 1);
}

TEST_CASE("a frame is given back while the ring is full of what follows it") {
    road_of_references on;
    lent first(*on.mine, 0, random_bytes(300'000, 2));
    parcel second(1, random_bytes(2'000'000, 3), 1);
    on.way->there.parks_from = 0;
    on.send(first);
    on.send(second);
    on.settle();
    CHECK(first.times_sent == 0);
    on.way->there.parks_from = 1;
    on.way->resume();
    on.settle();
    CHECK(first.times_sent == 1);
    CHECK(second.times_sent == 0);
    on.way->there.parks_from = ~std::uint64_t{0};
    on.way->resume();
    on.settle();
    CHECK(second.times_sent == 1);
    REQUIRE(on.way->there.payloads.size() == 2);
    CHECK(on.way->there.payloads[1] == second.payload);
}

TEST_CASE("a reference beyond the arena or the staging buffers, or to an arena that never came, ends the lane with protocol_error") {
    constexpr std::uint64_t of_staging = std::uint64_t{1} << 63;
    struct row {
        bool lends_first;
        std::uint64_t offset;
    };
    const row beyond[] = {
        {false, 0}, {true, (std::uint64_t{1} << 62) - 51}, {true, of_staging | (staging_buffers::all_bytes - 50)}, {true, ~std::uint64_t{0} - 50}};
    for (const auto& [lends_first, offset] : beyond) {
        CAPTURE(lends_first);
        CAPTURE(offset);
        breaking_road on;
        if (lends_first) on.lend_one();
        frame head;
        head.references = 1;
        head.payload_bytes = 100;
        const reference wrong[] = {{offset, 100}};
        on.break_with(head, wrong);
    }
}

TEST_CASE("references that do not add up to their frame's payload end the lane with protocol_error") {
    struct row {
        std::uint64_t second, payload;
    };
    for (const auto& [second, payload] : {row{200, 399}, row{200, 401}, row{~std::uint64_t{0}, 400}}) {
        CAPTURE(second);
        CAPTURE(payload);
        breaking_road on;
        on.lend_one();
        frame head;
        head.sequence = 1;
        head.references = 2;
        head.payload_bytes = payload;
        const reference first = on.near_end->near()->locate({on.good.data(), 200}).value();
        const reference sent[] = {first, {first.offset, second}};
        on.break_with(head, sent);
    }
}

TEST_CASE("an answer that belongs beyond the arena or the staging buffers ends the lane with protocol_error") {
    for (const std::uint64_t beyond : {std::uint64_t{1} << 61, std::uint64_t{1} << 63 | staging_buffers::all_bytes, ~std::uint64_t{0} - 300'000}) {
        CAPTURE(beyond);
        breaking_road on;
        on.lend_one();
        frame head;
        head.references = 1;
        head.answered = true;
        head.payload_bytes = 100;
        const reference wrong[] = {on.near_end->near()->locate({on.good.data(), 100}).value(), {3, beyond}};
        on.break_with(head, wrong);
    }
}

TEST_CASE("a lane whose side has no descriptor for what the other one lends ends with that" * doctest::skip(test::sanitizer_wants_descriptors)) {
    road_of_references on;
    lent first(*on.mine, 0, random_bytes(200'000, 1)), second(*on.mine, 1, random_bytes(200'000, 2));
    const no_descriptors none;
    on.send(first);
    on.send(second);
    on.settle();
    CHECK(on.way->there.losses == 1);
    CHECK(on.way->there.code == std::errc::too_many_files_open);
}

TEST_CASE("who cannot send any more has taken back what it has lent") {
    road_of_references on;
    lent one(*on.mine, 0, random_bytes(300'000, 1)), next(*on.mine, 1, random_bytes(300'000, 2));
    on.way->there.parks_from = 0;
    on.send(one);
    on.settle();
    on.near_end->broken = true;
    on.send(next);
    CHECK(on.way->here.losses == 1);
    // From now on the memory may hold something else.
    on.way->there.parks_from = ~std::uint64_t{0};
    on.way->resume();
    on.settle();
    CHECK(on.way->there.heads.empty());
    CHECK(on.way->there.losses == 1);
    CHECK(one.times_sent == 0);
}

}  // namespace tutti::test
