// Frames of several lanes that leave together, and when they do.
#include "road.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using namespace tutti::test;

namespace {

/// One rank's lanes to two others, of one guard and one cork, and the others' ends.
struct crossing {
    explicit crossing(lane::kind how = lane::kind::single) {
        for (arm& each : arms) {
            auto ends = make_memory_links({loop, "here"}, {loop, "there"}, 256 * KiB);
            each.counted = new counting_link(std::move(ends.first), ~std::size_t{0});
            each.here = make_lane(loop, guard, std::unique_ptr<tutti::link>(each.counted), each.mine, how, &together);
            each.there = make_lane(loop, guard, std::move(ends.second), each.theirs);
        }
        const std::lock_guard lock(guard);
        for (arm& each : arms) each.here->resume(), each.there->resume();
    }
    ~crossing() {
        const std::lock_guard lock(guard);
        for (arm& each : arms) each.here->close(), each.there->close();
    }
    /// With the guard held, as the engine sends.
    void send(std::size_t which, std::size_t payload_bytes = 8) {
        parcel& one = sent.emplace_back(sent.size(), random_bytes(payload_bytes, sent.size()), 1);
        arms[which].here->send(one);
        arms[which].here->flush();
    }
    int calls(std::size_t which) const { return arms[which].counted->sends; }

    struct arm {
        addressee mine, theirs;
        counting_link* counted = nullptr;
        std::unique_ptr<lane> here, there;
    };
    event_loop loop{event_loop::virtual_time};
    std::mutex guard;
    cork together;
    std::deque<parcel> sent;
    arm arms[2];
};

}  // namespace

TEST_CASE("while somebody holds the cork frames are kept back, and then leave in one call a lane") {
    crossing all;
    {
        const std::lock_guard lock(all.guard);
        all.send(0);
        CHECK(all.calls(0) == 1);  // no call holds it
        const cork::held outer(all.together);
        {
            const cork::held inner(all.together);
            for (int index = 0; index < 10; ++index) all.send(0), all.send(1);
        }
        CHECK(all.calls(0) == 1);
        CHECK(all.calls(1) == 0);
        CHECK_FALSE(all.arms[1].here->flushed());
    }
    CHECK(all.calls(0) == 2);
    CHECK(all.calls(1) == 1);
    all.loop.run();
    CHECK(all.arms[0].theirs.heads.size() == 11);
    CHECK(all.arms[1].theirs.heads.size() == 10);
    for (const parcel& each : all.sent) CHECK(each.times_sent == 1);
}

TEST_CASE("what is sent while kept frames leave is sent as well") {
    crossing all;
    const std::lock_guard lock(all.guard);
    {
        const cork::held together(all.together);
        all.send(0);
        all.sent.back().when_sent = [&all] { all.send(1); };
    }
    CHECK(all.calls(1) == 1);
    CHECK(all.arms[1].here->flushed());
}

TEST_CASE("what answers frames that have come together leaves together, on every lane") {
    crossing all;
    std::deque<parcel> questions;
    all.arms[0].mine.when_landed = [&all] { all.send(0), all.send(1); };
    const std::lock_guard lock(all.guard);
    for (std::uint64_t index = 0; index < 20; ++index) all.arms[0].there->send(questions.emplace_back(index, random_bytes(100, index), 1));
    all.arms[0].there->flush();
    all.guard.unlock();
    all.loop.run();
    all.guard.lock();
    for (std::size_t which : {0U, 1U}) {
        CAPTURE(which);
        CHECK(all.calls(which) == 1);
        CHECK(all.arms[which].theirs.heads.size() == 20);
    }
}

TEST_CASE("an answer does not wait until a long frame behind its question has been read") {
    crossing all;
    std::deque<parcel> questions;
    std::vector<int> answered;  // when each question had landed
    all.arms[0].mine.when_landed = [&] {
        answered.push_back(all.calls(1));
        all.send(1);
    };
    {
        const std::lock_guard lock(all.guard);
        for (const std::size_t payload_bytes : {std::size_t{100}, std::size_t{200 * KiB}})
            all.arms[0].there->send(questions.emplace_back(questions.size(), random_bytes(payload_bytes, 1), 1));
        all.arms[0].there->flush();
    }
    all.loop.run();
    CHECK(answered == std::vector{0, 1});
    CHECK(all.calls(1) == 2);
}

TEST_CASE("a lane that has ended keeps nothing back") {
    crossing all;
    const std::lock_guard lock(all.guard);
    {
        const cork::held together(all.together);
        all.send(0);
        all.send(1);
        all.arms[0].here->stop();
    }
    CHECK(all.calls(0) == 0);
    CHECK(all.sent.front().times_sent == 0);
    CHECK(all.calls(1) == 1);
}

TEST_CASE("lanes that share the frames of a port keep nothing back: each takes the next when it has sent the one before") {
    crossing all(lane::kind::shared);
    const std::lock_guard lock(all.guard);
    const cork::held together(all.together);
    all.send(0);
    all.send(1);
    CHECK(all.calls(0) == 1);
    CHECK(all.calls(1) == 1);
}
