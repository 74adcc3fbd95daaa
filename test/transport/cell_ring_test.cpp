// Cells: what they carry, and how many there are.
#include "transport/cell_ring.hpp"

#include "pump.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace tutti::test {
namespace {

frame numbered(std::uint64_t sequence, std::size_t payload_bytes) {
    frame made;
    made.kind = frame_kind::data;
    made.epoch = 7;
    made.sequence = sequence;
    made.index = 0x01020304;
    made.slice = 65535;
    made.payload_bytes = payload_bytes;
    made.what = {3, 4, 5, 6, -8, std::uint64_t{1} << 40, 0x1234'5678'9abc'def0, 0x0a0b0c0d, payload_bytes % 2 == 0, 0x818283};
    return made;
}

bool send(cell_sender& over, const frame& head, std::span<const std::byte> behind) {
    const std::span<const std::byte> parts[] = {behind.first(behind.size() / 3), {}, behind.subspan(behind.size() / 3)};
    return over.send(head, parts);
}

struct direction {
    cell_ring cells;
    cell_sender sender{cells};
    cell_receiver receiver{cells};
    frame head;
    cell_contents contents{};

    bool take() { return receiver.take(head, contents); }
    bool begins_with(const bytes& what) const { return std::equal(what.begin(), what.end(), contents.begin()); }
};

}  // namespace

TEST_CASE("a cell brings its frame and a short payload, whatever the size") {
    direction one;
    for (std::size_t size = 0; size <= most_inline_bytes; ++size) {
        CAPTURE(size);
        const bytes what = random_bytes(size, size + 1);
        CHECK(is_inline(numbered(size, size)));
        CHECK_FALSE(one.receiver.ready());
        CHECK_FALSE(one.take());
        REQUIRE(send(one.sender, numbered(size, size), what));
        CHECK(one.receiver.ready());
        REQUIRE(one.take());
        CHECK(one.head == numbered(size, size));
        CHECK(one.begins_with(what));
    }
}

TEST_CASE("a cell announces a payload that stands elsewhere, however long that is") {
    direction one;
    for (const std::uint64_t size : {std::uint64_t{most_inline_bytes + 1}, std::uint64_t{5'000'000'000}})
        for (const std::uint8_t references : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{3}, std::uint8_t{4}})
            for (const bool answered : {false, true}) {
                CAPTURE(size);
                CAPTURE(static_cast<int>(references));
                CAPTURE(answered);
                frame head = numbered(9, size);
                head.references = references;
                head.answered = answered && references > 0;
                CHECK_FALSE(is_inline(head));
                const bytes what = random_bytes(reference_bytes(head), 5);
                REQUIRE(send(one.sender, head, what));
                REQUIRE(one.take());
                CHECK(one.head == head);
                CHECK(is_possible(one.head));
                CHECK(one.begins_with(what));
                head.references = 0;
                head.answered = false;
                head.in_place = true;
                REQUIRE(send(one.sender, head, {}));
                REQUIRE(one.take());
                CHECK(one.head == head);
            }
}

TEST_CASE("a frame with a slice that is too high for a cell's first line comes whole, and its payload is not in the cell") {
    direction one;
    for (const bool in_place : {false, true}) {
        frame high = numbered(3, 4);
        high.slice = 65536;
        high.in_place = in_place;
        CHECK_FALSE(is_inline(high));
        REQUIRE(send(one.sender, high, {}));
        REQUIRE(one.take());
        CHECK(one.head == high);
        CHECK_FALSE(is_inline(one.head));
    }
}

TEST_CASE("a cell that cannot be brings no possible frame") {
    frame unknown = numbered(0, 0), answered = unknown, both = unknown, many = numbered(0, 1000);
    unknown.kind = static_cast<frame_kind>(99);
    answered.answered = answered.in_place = true;
    both.references = 1;
    both.in_place = true;
    many.references = 7;
    for (const frame& each : {unknown, answered, both, many}) {
        direction one;
        REQUIRE(send(one.sender, each, {}));
        REQUIRE(one.take());
        CHECK_FALSE(is_possible(one.head));
    }
    direction one;
    frame high = numbered(3, 4);
    high.slice = 65536;
    REQUIRE(send(one.sender, high, {}));
    one.cells.cells[1].rest[0] ^= std::byte{1};  // of the magic number
    REQUIRE(one.take());
    CHECK_FALSE(is_possible(one.head));
}

TEST_CASE("a cell whose payload cannot be where it says brings no possible frame") {
    for (const auto& [size, claims] : {std::pair(4, 125), std::pair(4, static_cast<int>(cell::elsewhere)),
                                       std::pair(200, static_cast<int>(cell::elsewhere | cell::wide))}) {
        CAPTURE(claims);
        direction one;
        const frame head = numbered(3, static_cast<std::size_t>(size));
        REQUIRE(send(one.sender, head, bytes(is_inline(head) ? head.payload_bytes : 0)));
        one.cells.cells[1].first.fill(std::byte{0});
        one.cells.cells[1].payload = static_cast<std::uint8_t>(claims);
        REQUIRE(one.take());
        CHECK_FALSE(is_possible(one.head));
    }
}

TEST_CASE("a sender whose receiver says that it took what was never sent has no room, and knows why") {
    direction one;
    while (send(one.sender, numbered(1, 0), {})) {}
    CHECK_FALSE(one.sender.broken());
    one.cells.taken = cell_ring::capacity + 1;
    CHECK_FALSE(one.sender.has_room());
    CHECK(one.sender.broken());
}

TEST_CASE("cells are sent until none is free, and again when the receiver has told what it took") {
    direction one;
    std::uint64_t sent = 0, taken = 0;
    for (int round = 0; round < 10; ++round) {
        while (send(one.sender, numbered(sent, 8), random_bytes(8, sent))) ++sent;
        CHECK_FALSE(one.sender.has_room());
        CHECK(sent - taken <= cell_ring::capacity);
        CHECK(sent - taken > cell_ring::capacity - cell_ring::untold);
        for (std::uint32_t times = 0; times < cell_ring::capacity * 3 / 4 - 1; ++times) {
            REQUIRE(one.take());
            CHECK(one.receiver.has_published() == ((taken + 1) % cell_ring::untold == 0));
            CHECK(one.head.sequence == taken);
            CHECK(one.begins_with(random_bytes(8, taken)));
            ++taken;
        }
        CHECK(one.sender.has_room());
    }
}

TEST_CASE("cells from another thread come whole and in order") {
    direction one;
    constexpr std::uint64_t all = 100'000;
    std::thread other([&one] {
        for (std::uint64_t index = 0; index < all; ++index) {
            const std::uint64_t numbers[] = {index, ~index, index * 3};
            while (!send(one.sender, numbered(index, sizeof numbers), std::as_bytes(std::span(numbers)))) std::this_thread::yield();
        }
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t index = 0; index < all; ++index) {
        while (!one.take()) std::this_thread::yield();
        std::uint64_t numbers[3];
        std::memcpy(numbers, one.contents.data(), sizeof numbers);
        wrong += one.head.sequence == index && numbers[0] == index && numbers[1] == ~index && numbers[2] == index * 3 ? 0 : 1;
    }
    other.join();
    CHECK(wrong == 0);
}

}  // namespace tutti::test
