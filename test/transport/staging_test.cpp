// Payloads that cannot be lent, but are answered: they lie in memory of the link until the answer comes.
#include "road_of_references.hpp"

#include <doctest/doctest.h>

namespace tutti::test {
namespace {

/// A frame from ordinary memory, for the answer of a place.
parcel asking(std::uint64_t sequence, std::uint32_t index, bytes what) {
    parcel made(sequence, std::move(what), 3);
    made.answer = index;
    return made;
}

/// The answer to what the other side has lent last.
parcel answering(const road_of_references& on, std::uint64_t sequence, bytes what) {
    parcel made(sequence, std::move(what), 5);
    made.into = on.way->there.references.back();
    made.head.index = made.into.index;
    return made;
}

/// Takes one byte more than came from each part of a payload, in memory of its own and, where it is told to, back into that part.
class adding final : public lane_owner {
public:
    landing arrived(const frame& head, std::vector<std::span<std::byte>>&) noexcept override {
        made.assign(head.payload_bytes, std::byte{});
        return landing::through;
    }
    bool answers(const frame&, std::uint32_t index) noexcept override { return index == answered; }
    std::size_t through(const frame&, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept override {
        for (std::size_t index = 0; index < part.size(); ++index) {
            const std::byte next = sum_of(part[index]);
            made[static_cast<std::size_t>(offset) + index] = next;
            if (back) back[index] = next;
        }
        return part.size();
    }
    void landed(const frame&) noexcept override {}
    void lent(const frame&, const remote_reference& what) noexcept override { references.push_back(what); }
    void lost(std::error_code) noexcept override { lost_it = true; }

    static std::byte sum_of(std::byte each) noexcept { return static_cast<std::byte>(std::to_integer<int>(each) + 1); }

    std::uint32_t answered = 0;
    bytes made;
    std::vector<remote_reference> references;
    bool lost_it = false;
};

}  // namespace

TEST_CASE("a payload that cannot be lent is answered in the link's memory, and the answer lands where its frame belongs") {
    for (const std::size_t length : {8'192UL, 40'001UL, 131'072UL, 131'073UL, 300'001UL, 524'288UL}) {
        CAPTURE(length);
        road_of_references on;
        for (std::uint64_t turn = 0; turn < 3 * staging_buffers::buffer_count; ++turn) {
            const bytes what = random_bytes(length, 2 * turn + 1), answer = random_bytes(length, 2 * turn + 2);
            parcel one = asking(turn, 17, what);
            on.send(one);
            CHECK(one.head.references == (length + staging_buffers::buffer_bytes - 1) / staging_buffers::buffer_bytes);
            CHECK(one.times_sent == 1);  // no peer reads its own memory any more
            on.settle();
            REQUIRE(on.way->there.references.size() == turn + 1);
            CHECK(on.way->there.payloads.back() == what);
            parcel back = answering(on, turn, answer);
            on.send_back(back);
            on.settle();
            CHECK(back.head.in_place);
            REQUIRE(on.way->here.payloads.size() == turn + 1);
            CHECK(on.way->here.payloads.back() == answer);
        }
    }
}

TEST_CASE("an answer that is not written into the link's memory lands all the same, and its staging buffers are free") {
    road_of_references on;
    for (std::uint64_t turn = 0; turn < 3 * staging_buffers::buffer_count; ++turn) {
        parcel one = asking(turn, 3, random_bytes(200'000, turn + 1));
        on.send(one);
        CHECK(one.head.references == 2);
        on.settle();
        parcel back(turn, random_bytes(200'000, turn + 100), 2);
        back.head.index = 3;
        on.send_back(back);
        on.settle();
        CHECK_FALSE(back.head.in_place);
        REQUIRE(on.way->here.payloads.size() == turn + 1);
        CHECK(on.way->here.payloads.back() == back.payload);
    }
}

TEST_CASE("where no staging buffer is free a payload is copied as ever, and frames keep their order") {
    road_of_references on;
    std::deque<parcel> all;
    for (std::uint64_t index = 0; index < 2 * staging_buffers::buffer_count; ++index) {
        all.push_back(asking(index, 1, random_bytes(50'000, index + 1)));
        on.send(all.back());
    }
    for (int turn = 0; turn < 200 && on.way->there.heads.size() < all.size(); ++turn) on.settle();
    REQUIRE(on.way->there.heads.size() == all.size());
    CHECK(on.way->there.references.size() == staging_buffers::buffer_count);
    for (std::uint64_t index = 0; index < all.size(); ++index) {
        CHECK(on.way->there.heads[index].sequence == index);
        CHECK(on.way->there.payloads[index] == all[index].payload);
        CHECK((all[index].head.references > 0) == (index < staging_buffers::buffer_count));
    }
}

/// From ordinary memory, to be summed with what others send.
static parcel summed(std::uint64_t sequence, bytes what) {
    parcel made(sequence, std::move(what), 1);
    made.summed = true;
    return made;
}

TEST_CASE(
    "what is to be summed is lent in the link's memory until it is given back, where ranks share cores, and waits for staging buffers that will be") {
    for (const bool crowded : {false, true}) {
        CAPTURE(crowded);
        road_of_references on;
        on.near_end->alone = !crowded;
        std::deque<parcel> all;
        for (std::uint64_t index = 0; index < 3 * staging_buffers::buffer_count; ++index) {
            all.push_back(summed(index, random_bytes(50'000, index + 1)));
            on.send(all.back());
        }
        for (int turn = 0; turn < 200 && on.way->there.heads.size() < all.size(); ++turn) on.settle();
        REQUIRE(on.way->there.heads.size() == all.size());
        CHECK(on.way->there.references.empty());
        for (std::uint64_t index = 0; index < all.size(); ++index) {
            CHECK(on.way->there.heads[index].sequence == index);
            CHECK(on.way->there.payloads[index] == all[index].payload);
            CHECK(all[index].head.references == crowded);
            CHECK(all[index].times_sent == 1);
        }
    }
}

TEST_CASE("what lies in staging buffers is there still when who sent it has gone") {
    road_of_references on;
    on.near_end->alone = false;
    on.way->there.parks_from = 0;
    parcel one = summed(0, random_bytes(300'000, 1));
    on.send(one);
    CHECK(one.times_sent == 1);
    on.settle();
    CHECK(on.way->there.heads.empty());
    {
        const std::lock_guard lock(on.way->guard);
        on.way->near.close();
    }
    on.way->there.parks_from = ~std::uint64_t{0};
    on.way->resume();
    on.settle();
    CHECK(on.way->there.payloads == std::vector<bytes>{one.payload});
}

TEST_CASE("what is to be summed goes through the ring where it is short, fits no staging buffers, or those are full of what is answered") {
    road_of_references on;
    on.near_end->alone = false;
    const auto references = [&on](parcel one) {
        on.send(one);
        for (int turn = 0; turn < 200 && one.times_sent == 0; ++turn) on.settle();
        CHECK(one.times_sent == 1);
        return static_cast<int>(one.head.references);
    };
    CHECK(references(summed(0, random_bytes(8'191, 1))) == 0);
    CHECK(references(summed(1, random_bytes(8'192, 2))) == 1);
    CHECK(references(summed(2, random_bytes(staging_buffers::longest_payload, 3))) == most_references);
    CHECK(references(summed(3, random_bytes(staging_buffers::longest_payload + 1, 4))) == 0);
    for (std::uint32_t index = 0; index < staging_buffers::buffer_count; ++index) CHECK(references(asking(4, index, random_bytes(8'192, 5))) == 1);
    CHECK(references(summed(5, random_bytes(8'192, 6))) == 0);
}

TEST_CASE("beside other lanes, which may bring the answer, and where none is wanted, nothing is copied to staging buffers") {
    for (const bool alone : {false, true}) {
        CAPTURE(alone);
        event_loop loop;
        const auto client = std::move(shm_transport::listen(loop)).value(), server = std::move(shm_transport::listen(loop)).value();
        auto both = run(loop, open(loop, *client, *server));
        std::mutex guard;
        addressee here;
        const auto made = make_lane(loop, guard, std::move(both.one), here, alone ? lane::kind::single : lane::kind::shared);
        lane& way = *made;
        parcel one = asking(0, 1, random_bytes(100'000, 1)), other(1, random_bytes(100'000, 2), 1);
        {
            const std::lock_guard lock(guard);
            for (parcel* each : {&one, &other}) way.send(*each);
            way.flush();
            way.close();
        }
        CHECK(one.head.references == (alone ? 1 : 0));
        CHECK(other.head.references == 0);
        both.other->close();
    }
}

TEST_CASE("an answer of another length than what lies in the staging buffers is none") {
    road_of_references on;
    parcel one = asking(4, 2, random_bytes(100'000, 1)), back(4, random_bytes(99'999, 2), 1);
    on.send(one);
    on.settle();
    back.head.index = 2;
    on.send_back(back);
    on.settle();
    CHECK(on.way->here.losses == 1);
    CHECK(on.way->here.code == error::protocol_error);
}

TEST_CASE("an answer to what nobody has read yet is none") {
    road_of_references on;
    on.way->there.parks_from = 0;
    parcel one = asking(1, 4, random_bytes(50'000, 1));
    on.send(one);
    on.settle();
    parcel early(1, random_bytes(50'000, 2), 5);
    early.head.index = 4;
    on.send_back(early);
    on.settle();
    CHECK(on.way->here.losses == 1);
    CHECK(on.way->here.code == error::protocol_error);
}

TEST_CASE("what has been taken back is not written to, in staging buffers as elsewhere") {
    road_of_references on;
    parcel one = asking(0, 17, random_bytes(100'000, 1));
    on.send(one);
    on.settle();
    on.near_end->near()->revoke();
    parcel back = answering(on, 0, random_bytes(100'000, 2));
    on.send_back(back);
    on.settle();
    CHECK_FALSE(back.head.in_place);
    CHECK(on.way->here.payloads == std::vector<bytes>{back.payload});
}

TEST_CASE("what becomes of a payload is written over it while it is read, where that is its answer") {
    for (const std::uint32_t asked : {5U, 6U})
        for (const bool in_arena : {false, true}) {
            CAPTURE(asked);
            CAPTURE(in_arena);
            event_loop loop;
            const auto mine = std::make_shared<arena>(true);
            const auto client = std::move(shm_transport::listen(loop, mine)).value(),
                       server = std::move(shm_transport::listen(loop)).value();
            auto both = run(loop, open(loop, *client, *server));
            std::mutex guard;
            addressee here;
            adding there;
            there.answered = 5;
            const std::unique_ptr<lane> lanes[] = {make_lane(loop, guard, std::move(both.one), here),
                                                   make_lane(loop, guard, std::move(both.other), there)};
            lane &near = *lanes[0], &far = *lanes[1];
            const auto settle = [&loop] { run(loop, a_while()); };
            const bytes what = random_bytes(300'001, 7);
            bytes answer = what;
            for (std::byte& each : answer) each = adding::sum_of(each);
            lent shared(*mine, 0, what);
            parcel plain = asking(0, asked, what);
            shared.answer = asked;
            {
                const std::lock_guard lock(guard);
                for (lane* each : {&near, &far}) each->resume();
                near.send(in_arena ? static_cast<outgoing&>(shared) : plain);
                near.flush();
            }
            settle();
            CHECK(there.made == answer);
            REQUIRE(there.references.size() == 1);
            CHECK(there.references[0].answered == (asked == 5));
            if (in_arena) CHECK((shared.now() == answer) == (asked == 5));
            parcel back(0, there.made, 2);
            back.head.index = asked;
            back.into = there.references[0];
            {
                const std::lock_guard lock(guard);
                far.send(back);
                far.flush();
            }
            settle();
            CHECK(back.head.in_place);
            REQUIRE(here.payloads.size() == 1);
            if (in_arena) CHECK(shared.now() == answer);
            else CHECK(here.payloads[0] == answer);
            CHECK_FALSE(there.lost_it);
            const std::lock_guard lock(guard);
            near.close();
            far.close();
        }
}

TEST_CASE("a turn writes no more answers than it may send bytes") {
    constexpr std::size_t length = 100'000, turn_bytes = 1 * MiB;
    road_of_references on;
    std::deque<lent> all;
    for (std::uint64_t index = 0; index < 3 * turn_bytes / length; ++index) {
        all.emplace_back(*on.mine, index, random_bytes(length, index + 1)).answer = 1;
        on.send(all.back());
    }
    for (int turn = 0; turn < 200 && on.way->there.references.size() < all.size(); ++turn) on.settle();
    REQUIRE(on.way->there.references.size() == all.size());
    std::deque<parcel> answers;
    const auto written = [&answers] {
        return std::count_if(answers.begin(), answers.end(), [](const parcel& each) { return each.head.in_place; });
    };
    {
        const std::lock_guard lock(on.way->guard);
        for (std::uint64_t index = 0; index < all.size(); ++index) {
            answers.emplace_back(index, random_bytes(length, index + 1000), 1).into = on.way->there.references[index];
            on.way->far.send(answers.back());
        }
        on.way->far.flush();
        CHECK(written() == static_cast<std::ptrdiff_t>(turn_bytes / length) + 1);
    }
    for (int turn = 0; turn < 200 && on.way->here.heads.size() < all.size(); ++turn) on.settle();
    CHECK(written() == static_cast<std::ptrdiff_t>(all.size()));
    for (std::size_t index = 0; index < all.size(); ++index) CHECK(all[index].now() == answers[index].payload);
}

}  // namespace tutti::test
