// Payloads that are written into memory which was lent for them: where they lie afterwards, and when the peer may not write there any more.
#include "road_of_references.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace tutti::test {

TEST_CASE("an answer is written into the memory that was lent for it, and its frame has no payload any more") {
    road_of_references on;
    const bytes what = random_bytes(40'001, 5), answer = random_bytes(40'001, 6);
    lent one(*on.mine, 0, what);
    one.answer = 17;
    on.send(one);
    on.settle();
    CHECK(one.times_sent == 1);
    REQUIRE(on.way->there.references.size() == 1);
    CHECK(on.way->there.references[0].index == 17);
    CHECK(on.way->there.payloads == std::vector<bytes>{what});
    parcel back(1, answer, 3);
    back.into = on.way->there.references[0];
    on.send_back(back);
    on.settle();
    CHECK(back.times_sent == 1);
    CHECK(back.head.in_place);
    CHECK(one.now() == answer);
    REQUIRE(on.way->here.heads.size() == 1);
    CHECK(on.way->here.heads[0] == back.head);
}

TEST_CASE("an answer that belongs elsewhere in the arena is written there, and what was lent stays as it is") {
    road_of_references on;
    const bytes what = random_bytes(40'001, 5), answer = random_bytes(40'001, 6);
    lent one(*on.mine, 0, what), elsewhere(*on.mine, 0, random_bytes(40'001, 7));
    one.answer = 17;
    one.answer_beyond = elsewhere.data() - one.data();
    on.send(one);
    on.settle();
    CHECK(one.head.references == 2);
    REQUIRE(on.way->there.references.size() == 1);
    CHECK(on.way->there.payloads == std::vector<bytes>{what});
    parcel back(1, answer, 3);
    back.into = on.way->there.references[0];
    on.send_back(back);
    on.settle();
    CHECK(back.head.in_place);
    CHECK(one.now() == what);
    CHECK(elsewhere.now() == answer);
}

/// From what is lent to memory that only this process has.
static std::ptrdiff_t answer_beyond(const lent& one, const bytes& elsewhere) {
    return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(elsewhere.data()) - reinterpret_cast<std::uintptr_t>(one.data()));
}

TEST_CASE("what is answered in memory of this process alone is lent without that where it is too long for staging buffers") {
    road_of_references on;
    const bytes what = random_bytes(most_references * staging_buffers::buffer_bytes + 1, 5), elsewhere(what.size());
    lent one(*on.mine, 0, what);
    one.answer = 17;
    one.answer_beyond = answer_beyond(one, elsewhere);
    on.send(one);
    CHECK(one.head.references == 2);
    CHECK_FALSE(one.head.answered);
    on.settle();
    CHECK(one.times_sent == 1);
    CHECK(on.way->there.references.empty());
    CHECK(on.way->there.payloads == std::vector<bytes>{what});
}

TEST_CASE("what is answered in memory of this process alone is not lent, but copied to where it can be answered") {
    road_of_references on;
    const bytes what = random_bytes(40'001, 5), elsewhere(what.size());
    lent one(*on.mine, 0, what);
    one.answer = 17;
    one.answer_beyond = answer_beyond(one, elsewhere);
    on.send(one);
    on.settle();
    CHECK(one.staged);
    CHECK(one.head.answered);
    REQUIRE(on.way->there.references.size() == 1);
    CHECK(on.way->there.payloads == std::vector<bytes>{what});
    parcel back(0, random_bytes(40'001, 6), 3);
    back.head.index = 17;
    back.into = on.way->there.references[0];
    on.send_back(back);
    on.settle();
    CHECK(back.head.in_place);
    CHECK(one.now() == what);
    CHECK(on.way->here.payloads == std::vector<bytes>{back.payload});
}

TEST_CASE("memory that has been taken back, or has another length, is not written to, and the frame travels as others do") {
    for (const bool revoked : {false, true}) {
        CAPTURE(revoked);
        road_of_references on;
        const bytes what = random_bytes(40'001, 5);
        lent one(*on.mine, 0, what);
        one.answer = 17;
        on.send(one);
        on.settle();
        REQUIRE(on.way->there.references.size() == 1);
        if (revoked) on.near_end->near()->revoke();
        parcel back(1, random_bytes(revoked ? 40'001 : 40'000, 6), 3);
        back.into = on.way->there.references[0];
        on.send_back(back);
        on.settle();
        CHECK_FALSE(back.head.in_place);
        CHECK(one.now() == what);
        CHECK(on.way->here.payloads == std::vector<bytes>{back.payload});
    }
}

TEST_CASE("who takes memory back waits for a peer that is writing there, and afterwards has it for himself") {
    for (int turn = 0; turn < 20; ++turn) {
        event_loop loop;
        const auto mine = std::make_shared<arena>(true);
        const auto client = std::move(shm_transport::listen(loop, mine)).value();
        const auto server = std::move(shm_transport::listen(loop)).value();
        const auto both = run(loop, open(loop, *client, *server));
        near_link &lender = *both.one->near(), &writer = *both.other->near();
        const std::size_t count = 1'000'000;
        const std::span<std::byte> memory(mine->allocate(count), count);
        const reference where = lender.locate(memory).value();
        REQUIRE(writer.borrow(where).size() == count);
        const bytes answer(count, std::byte{0xaa});
        const std::span<const std::byte> parts[] = {answer};
        std::atomic<int> written{0};
        std::thread other([&] {
            while (writer.write_back({&where, 1}, parts)) ++written;
        });
        while (written < 1 + turn % 3) std::this_thread::yield();
        lender.revoke();
        std::fill(memory.begin(), memory.end(), std::byte{0x11});
        other.join();
        CHECK(std::all_of(memory.begin(), memory.end(), [](std::byte each) { return each == std::byte{0x11}; }));
        mine->free(memory.data(), count);
        both.one->close();
        both.other->close();
    }
}

TEST_CASE("a remote reference beyond the arena or the staging buffers is not written to") {
    constexpr std::uint64_t of_staging = std::uint64_t{1} << 63;
    for (const std::uint64_t offset : {of_staging - 51, of_staging | (staging_buffers::all_bytes - 50), ~std::uint64_t{0} - 50}) {
        CAPTURE(offset);
        road_of_references on;
        lent one(*on.mine, 0, random_bytes(200'000, 1));
        one.answer = 1;
        on.send(one);
        on.settle();
        REQUIRE(on.way->there.references.size() == 1);
        parcel back(1, random_bytes(100, 6), 1);
        back.into = on.way->there.references[0];
        back.into.count = 1;
        back.into.parts[0] = {offset, 100};
        on.send_back(back);
        on.settle();
        CHECK_FALSE(back.head.in_place);
        CHECK(on.way->here.payloads == std::vector<bytes>{back.payload});
    }
}

}  // namespace tutti::test
