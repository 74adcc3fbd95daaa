// Frames over shared memory: in cells, and with payloads in the ring. How payloads are lent is in lending_test.cpp.
#include "road_of_references.hpp"

#include <doctest/doctest.h>

namespace tutti::test {
namespace {

/// Short frames, and every eighth one of any length.
std::size_t length_of(std::uint64_t index) {
    const std::uint64_t number = index * 2'654'435'761 >> 7;
    return static_cast<std::size_t>(index % 8 == 7 ? number % 3000 : number % (most_inline_bytes + 20));
}

}  // namespace

TEST_CASE("over shared memory frames come in their order, with their payload in the cell and in the ring") {
    road_of_references on;
    for (std::uint64_t index = 0; index < 2000; ++index) {
        on.way->send(on.way->add(length_of(index), 1 + index % 3));
        if (index % 5 == 0) on.way->flush();
        if (index % 90 == 0) on.settle();
    }
    on.way->flush();
    on.settle();
    on.way->check_all_arrived();
}

TEST_CASE("a short frame goes at once where nothing goes before it, and is taken as it comes by who wants to") {
    road_of_references on;
    on.way->there.takes_every = 3;
    int gone = 0;
    for (std::uint64_t index = 0; index < 2000; ++index) {
        parcel& next = on.way->add(length_of(index));
        const bool now = index % 4 != 0 && on.way->send_now(next);
        gone += now ? 1 : 0;
        CHECK_FALSE((now && next.payload.size() > most_inline_bytes));
        if (!now) on.way->send(next);
        if (index % 7 == 0) on.way->flush();
        if (index % 20 == 0) on.settle();
    }
    on.way->flush();
    on.settle();
    on.way->check_all_arrived();
    CHECK(gone > 100);
    CHECK(on.way->there.taken_at_once > 100);
}

TEST_CASE("who looks takes what has come, and looks for more only where something is due") {
    for (const bool awaited : {false, true}) {
        CAPTURE(awaited);
        road_of_references on;
        road& way = *on.way;
        way.there.takes_every = 1;
        way.there.awaited = awaited;
        int looks_in_vain = 0;
        on.far_end->no_cell = [&] { ++looks_in_vain; };
        for (int index = 0; index < 100; ++index) {
            way.look();
            CHECK(way.there.heads.size() == way.parcels.size());
            REQUIRE(way.send_now(way.add(4)));
            CHECK(way.there.heads.size() + 1 == way.parcels.size());
            way.look();
            if (index % 10 == 0) on.settle();
        }
        way.check_all_arrived();
        CHECK((looks_in_vain >= 100) == awaited);
        way.send(way.add(1000));
        way.flush();
        way.look();
        way.check_all_arrived();
    }
    memory_road far;
    far.way.look();
}

TEST_CASE("who looks at a lane that has left others the turn does not disturb it") {
    struct glance final : tutti::detail::runnable {
        explicit glance(road_of_references& where) : on(where) {}
        void run() noexcept override {
            on.way->look();
            on.loop.post(*this);
        }
        road_of_references& on;
    };
    road_of_references on;
    std::deque<lent> frames;
    for (std::uint64_t index = 0; index < 6; ++index) on.send(frames.emplace_back(*on.mine, index, random_bytes(1 * MiB, index + 1)));
    glance often(on);
    on.loop.post(often);
    for (int waited = 0; waited < 1000 && on.way->there.payloads.size() < frames.size(); ++waited) on.settle();
    on.loop.withdraw(often);
    REQUIRE(on.way->there.payloads.size() == frames.size());
    for (std::size_t index = 0; index < frames.size(); ++index) CHECK(on.way->there.payloads[index] == frames[index].now());
}

TEST_CASE("who cannot send any more takes the frame that has come, and then is told of the loss") {
    road_of_references on;
    on.settle();
    road& way = *on.way;
    way.there.takes_every = 1;
    REQUIRE(way.send_now(way.add(4)));
    on.far_end->broken = true;
    parcel answer(7, random_bytes(4, 1), 1);
    on.send_back(answer);
    CHECK(way.there.heads.size() == 1);
    CHECK(way.there.losses == 1);
    on.settle();
    CHECK(way.there.losses == 1);
}

TEST_CASE("nothing overtakes a frame that is queued, and no short frame goes at once over a network or a lane that has ended") {
    road_of_references on;
    on.way->send(on.way->add(4));
    CHECK_FALSE(on.way->send_now(on.way->add(4)));
    on.way->flush();
    parcel& third = on.way->add(4);
    CHECK(on.way->send_now(third));
    on.way->parcels.erase(on.way->parcels.begin() + 1);
    on.settle();
    on.way->check_all_arrived();
    on.way->near.close();
    CHECK_FALSE(on.way->send_now(third));
    memory_road far;
    CHECK_FALSE(far.way.send_now(far.way.add(4)));
}

TEST_CASE("a short frame that is parked comes when it is wanted, and what was sent after it comes behind it") {
    road_of_references on;
    on.way->there.parks_from = 1;
    for (const std::size_t size : std::vector<std::size_t>{4, 8, 200, 60}) on.way->send(on.way->add(size));
    on.way->flush();
    on.settle();
    CHECK(on.way->there.heads.size() == 1);
    on.way->there.parks_from = ~std::uint64_t{0};
    on.way->resume();
    on.settle();
    on.way->check_all_arrived();
}

TEST_CASE("who sleeps is woken by a cell") {
    road_of_references on;
    for (int index = 0; index < 20; ++index) {
        on.settle();  // much longer than a loop spins
        on.way->send(on.way->add(4));
        on.way->flush();
    }
    on.settle();
    on.way->check_all_arrived();
}

TEST_CASE("a cell that cannot be ends the lane") {
    frame unknown, lends_nothing;
    unknown.kind = static_cast<frame_kind>(99);
    lends_nothing.references = 7;
    for (const frame& head : {unknown, lends_nothing}) {
        road_of_references on;
        REQUIRE(on.near_end->near()->send_cell(head, {}));
        on.settle();
        CHECK(on.way->there.losses == 1);
        CHECK(on.way->there.code == error::protocol_error);
    }
}

TEST_CASE("bytes without a cell, and a cell before the bytes of the one before, are not waited for by spinning") {
    for (const bool announced : {false, true}) {
        CAPTURE(announced);
        road_of_references on;
        near_link& over = *on.near_end->near();
        frame head, next;
        head.payload_bytes = most_inline_bytes + 1;
        next.sequence = 1;
        if (announced) {
            REQUIRE(over.send_cell(head, {}));
            REQUIRE(over.send_cell(next, {}));
        } else {
            const bytes some(10);
            const std::span<const std::byte> parts[] = {some};
            REQUIRE(on.near_end->try_send(parts).bytes == some.size());
        }
        int looks = 0;
        on.far_end->no_cell = [&] { ++looks; };
        on.settle();
        CHECK(on.way->there.losses == 0);
        CHECK(on.way->there.heads.empty());
        CHECK(looks <= 1);
    }
}

TEST_CASE("a frame whose slice has no room in a cell's first line comes like any other") {
    road_of_references on;
    for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{300'000}}) {
        parcel& next = on.way->add(size);
        next.head.slice = 70'000;
        CHECK_FALSE(on.way->send_now(next));
        on.way->send(next);
    }
    on.way->flush();
    on.settle();
    on.way->check_all_arrived();
}

TEST_CASE("who found no free cell goes on when the other side, which sleeps in between, has taken some") {
    road_of_references on;
    on.way->there.parks_from = 0;
    for (std::uint32_t index = 0; index < 3 * cell_ring::capacity; ++index) on.way->send(on.way->add(4));
    on.way->flush();
    on.settle();
    CHECK_FALSE(on.way->near.flushed());
    on.way->there.parks_from = ~std::uint64_t{0};
    on.way->resume();
    on.settle();
    on.way->check_all_arrived();
}

}  // namespace tutti::test
