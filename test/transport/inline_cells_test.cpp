// Short frames beside the stream: what they carry, how many fit, where they come, and how lanes mix them with the stream.
#include "transport/inline_cells.hpp"
#include "transport/shm_ring.hpp"

#include "road_of_references.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace tutti::test {
namespace {

frame some_frame(std::uint64_t sequence, std::size_t payload_bytes) {
    frame made;
    made.kind = frame_kind::data;
    made.epoch = 7;
    made.sequence = sequence;
    made.index = 0x0102;
    made.slice = 65535;
    made.payload_bytes = payload_bytes;
    made.what = {3, 4, 5, 6, -8, std::uint64_t{1} << 40, 0x1234'5678'9abc'def0, 0x0a0b0c, payload_bytes % 2 == 0, 0x818283};
    return made;
}

bool send(cell_sender& over, const frame& head, std::span<const std::byte> payload, std::uint64_t stream = 0) {
    const std::span<const std::byte> parts[] = {payload.first(payload.size() / 3), {}, payload.subspan(payload.size() / 3)};
    return over.send(head, parts, stream);
}

struct direction {
    cell_ring board;
    cell_sender sender{board};
    cell_receiver receiver{board};
    frame head;
    cell_payload contents{};

    bool take(std::uint64_t stream = 0) { return receiver.take(head, contents, stream); }
    bool begins_with(const bytes& what) const { return std::equal(what.begin(), what.end(), contents.begin()); }
};

}  // namespace

TEST_CASE("an inline cell brings its frame and its payload, whatever their size") {
    direction one;
    for (std::size_t size = 0; size <= cell_payload_bytes; ++size) {
        CAPTURE(size);
        const bytes what = random_bytes(size, size + 1);
        CHECK_FALSE(one.receiver.ready(0));
        CHECK_FALSE(one.take());
        REQUIRE(send(one.sender, some_frame(size, size), what));
        CHECK(one.receiver.ready(0));
        REQUIRE(one.take());
        CHECK(one.head == some_frame(size, size));
        CHECK(one.begins_with(what));
    }
}

TEST_CASE("an inline cell leads to a payload that stands elsewhere, however long that is") {
    direction one;
    const std::uint64_t size = 5'000'000'000;
    for (const int references : {0, 1, 3, 4}) {
        CAPTURE(references);
        for (const bool answered : {false, true}) {
            frame head = some_frame(9, size);
            head.references = static_cast<std::uint8_t>(references);
            head.in_place = references == 0;
            head.answered = answered && references > 0;
            const bytes what = random_bytes(reference_bytes(head), 5);
            const bool fits = what.size() <= cell_payload_bytes - inline_cell::first_bytes;
            REQUIRE(send(one.sender, head, what) == fits);
            CHECK(one.take() == fits);
            if (!fits) continue;
            CHECK(one.head == head);
            CHECK(is_possible(one.head));
            CHECK(one.begins_with(what));
        }
    }
}

TEST_CASE("what is too long for an inline cell, or has a number that is too high for one, is none") {
    direction one;
    CHECK_FALSE(send(one.sender, some_frame(0, cell_payload_bytes + 1), bytes(cell_payload_bytes + 1)));
    frame late = some_frame(0, 4), far = late, large = late;
    late.slice = 65536;
    far.index = 65536;
    large.what.opaque_bytes = 1 << 24;
    for (const frame& each : {late, far, large}) CHECK_FALSE(send(one.sender, each, bytes(4)));
    CHECK_FALSE(one.take());
}

TEST_CASE("inline cells are sent until no place is free, and again when the receiver has told what it took") {
    direction one;
    std::uint64_t sent = 0, taken = 0;
    for (int round = 0; round < 10; ++round) {
        while (send(one.sender, some_frame(sent, 8), random_bytes(8, sent))) ++sent;
        CHECK(sent - taken <= cell_ring::capacity);
        CHECK(sent - taken > cell_ring::capacity - cell_ring::untold);
        for (int times = 0; times < 23; ++times) {
            REQUIRE(one.take());
            CHECK(one.head.sequence == taken);
            CHECK(one.begins_with(random_bytes(8, taken)));
            ++taken;
        }
    }
}

TEST_CASE("an inline cell waits for its place in the stream, also beyond four gigabytes") {
    for (const std::uint64_t stream : {std::uint64_t{100}, (std::uint64_t{1} << 32) + 100}) {
        direction one;
        REQUIRE(send(one.sender, some_frame(1, 4), bytes(4), stream));
        CHECK_FALSE(one.receiver.ready(stream - 36));
        CHECK_FALSE(one.take(stream - 36));
        CHECK(one.take(stream));
    }
}

TEST_CASE("inline cells from another thread come whole and in order") {
    direction one;
    constexpr std::uint64_t all = 100'000;
    std::thread other([&one] {
        for (std::uint64_t index = 0; index < all; ++index) {
            const std::uint64_t numbers[] = {index, ~index, index * 3};
            while (!send(one.sender, some_frame(index, sizeof numbers), std::as_bytes(std::span(numbers)))) std::this_thread::yield();
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

namespace {

/// Short frames, and every eighth one of any length.
std::size_t length_of(std::uint64_t index) {
    const std::uint64_t number = index * 2'654'435'761 >> 7;
    return static_cast<std::size_t>(index % 8 == 7 ? number % 3000 : number % (cell_payload_bytes + 20));
}

}  // namespace

TEST_CASE("over shared memory frames come in their order, beside the stream and through it") {
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
        CHECK_FALSE((now && next.payload.size() > cell_payload_bytes));
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

TEST_CASE("who cannot send any more takes the inline cell that has come, and then is told of the loss") {
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

TEST_CASE("an inline cell comes before the frame behind it, wherever the ring ends") {
    for (const std::size_t left : {std::size_t{1}, std::size_t{20}, frame_bytes - 1, frame_bytes, frame_bytes + 1}) {
        CAPTURE(left);
        road_of_references on;
        road& way = *on.way;
        std::size_t position = 0;
        const auto send = [&](std::size_t frame) {
            way.send(way.add(frame - frame_bytes));
            way.flush();
            position += frame;
        };
        while (ring_bytes - position > 3000) {
            send(1000);
            if (way.parcels.size() % 100 == 0) on.settle();
        }
        on.settle();
        // Between two looks of the receiver, the first of which finds nothing.
        on.far_end->no_cell = [&] {
            if (way.there.heads.size() != way.parcels.size()) return;
            on.far_end->no_cell = nullptr;
            parcel &in_cell = way.add(4), &next = way.add(100);
            in_cell.times_sent += way.near.send_now(in_cell.head, in_cell.payload) ? 1 : 0;
            way.near.send(next);
            way.near.flush();
        };
        send(ring_bytes - position - left);
        on.settle();
        way.check_all_arrived();
    }
}

TEST_CASE("an inline cell that is parked comes when it is wanted, and what was sent after it comes behind it") {
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

TEST_CASE("an inline cell that cannot be ends the lane") {
    frame unknown = some_frame(0, 0), answered = unknown, both = unknown;
    unknown.kind = static_cast<frame_kind>(99);
    answered.answered = answered.in_place = true;
    both.references = 1;
    both.in_place = true;
    // As an inline cell the size of the third says that the payload stands elsewhere, and how long it is.
    frame long_one = some_frame(0, 128), many = some_frame(0, 1000);
    many.references = 4;
    many.answered = true;
    const std::uint64_t numbers[8] = {5000};
    struct row {
        frame head;
        std::size_t behind;
    };
    for (const auto& [head, behind] : {row{unknown, 0}, row{answered, 0}, row{both, 0}, row{long_one, 1}, row{many, 8}}) {
        road_of_references on;
        const std::span<const std::byte> parts[] = {std::as_bytes(std::span(numbers).first(behind))};
        REQUIRE(on.near_end->near()->send_cell(head, parts));
        on.settle();
        CHECK(on.way->there.losses == 1);
        CHECK(on.way->there.code == error::protocol_error);
    }
}

TEST_CASE("an inline cell in the middle of a frame ends the lane") {
    for (const std::size_t sent : {std::size_t{40}, frame_bytes, frame_bytes + 10}) {
        CAPTURE(sent);
        road_of_references on;
        bytes begun(frame_bytes + 20);
        const auto header = encode(some_frame(0, 20));
        std::copy(header.begin(), header.end(), begun.begin());
        const std::span<const std::byte> parts[] = {std::span<const std::byte>(begun).first(sent)};
        REQUIRE(on.near_end->try_send(parts).bytes == sent);
        on.settle();
        CHECK(on.way->there.losses == 0);
        REQUIRE(on.near_end->near()->send_cell(some_frame(1, 0), {}));
        on.settle();
        CHECK(on.way->there.losses == 1);
        CHECK(on.way->there.code == error::protocol_error);
    }
}

TEST_CASE("who sleeps is woken by an inline cell") {
    road_of_references on;
    for (int index = 0; index < 20; ++index) {
        on.settle();  // much longer than a loop spins
        on.way->send(on.way->add(4));
        on.way->flush();
    }
    on.settle();
    on.way->check_all_arrived();
}

}  // namespace tutti::test
