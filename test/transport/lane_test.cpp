#include "road.hpp"
#include "stage.hpp"

#include "runtime/poll_source.hpp"

#include <doctest/doctest.h>

using namespace tutti;
using namespace tutti::test;

namespace {

void send_mixed(road& way, int frames) {
    std::mt19937_64 random{7};
    for (int index = 0; index < frames; ++index) {
        const std::size_t length = random() % 4 == 0 ? 0 : random() % 3 == 0 ? random() % 100'000 : random() % 200;
        way.send(way.add(length, 1 + random() % 5));
        if (random() % 3 == 0) way.flush();
    }
    way.flush();
}

/// Waits among the others, and looks how far counters move between two of its turns, until all have got as far as `end`.
class bystander final : public tutti::detail::poll_source {
public:
    bystander(event_loop& loop, std::initializer_list<const std::size_t*> counters, std::size_t end) : poll_source(loop), end_(end) {
        for (const auto* each : counters) counters_.push_back({each, 0});
        expect(true);
        wait();
    }
    ~bystander() { stop_waiting(); }
    std::size_t most() const noexcept { return most_; }

private:
    struct counter {
        const std::size_t* value;
        std::size_t before;
    };
    void arm() override { ready(); }
    void run() noexcept override {
        bool over = true;
        for (counter& each : counters_) {
            most_ = std::max(most_, *each.value - each.before);
            each.before = *each.value;
            over &= each.before == end_;
        }
        if (!over) wait();
    }

    std::vector<counter> counters_;
    const std::size_t end_;
    std::size_t most_ = 0;
};

}  // namespace

TEST_CASE("frames of all lengths arrive whole and in order, over links that take everything or next to nothing") {
    struct row {
        std::size_t capacity;
        std::size_t most;
        int frames;
    };
    for (const row& each : {row{256 * KiB, ~std::size_t{0}, 200}, row{100, ~std::size_t{0}, 100}, row{1000, 7, 60}, row{64, 1, 20}}) {
        CAPTURE(each.capacity);
        CAPTURE(each.most);
        memory_road on(each.capacity, each.most);
        send_mixed(on.way, each.frames);
        on.loop.run();
        on.way.check_all_arrived();
        CHECK(on.way.here.losses == 0);
    }
}

TEST_CASE("frames arrive whole and in order over a simulated network that moves any number of bytes") {
    simulated_stage stage;
    connected both(stage);
    road way(stage.loop(), std::move(both.ends.one), std::move(both.ends.other));
    send_mixed(way, 100);
    stage.loop().run();
    way.check_all_arrived();
}

TEST_CASE("many small frames go out with few calls") {
    memory_road on;
    for (int index = 0; index < 160; ++index) on.way.send(on.way.add(32));
    on.way.flush();
    on.loop.run();
    on.way.check_all_arrived();
    CHECK(on.counted->sends <= 20);
}

TEST_CASE("nothing leaves before a flush") {
    memory_road on;
    on.way.send(on.way.add(10));
    on.loop.run();
    CHECK(on.way.there.heads.empty());
    CHECK_FALSE(on.way.near.flushed());
    on.way.flush();
    on.loop.run();
    on.way.check_all_arrived();
}

TEST_CASE("a parked frame holds back all that follow, until it is asked about again") {
    memory_road on;
    on.way.there.parks_from = 2;
    for (const std::size_t length : {10u, 20u, 30u, 0u, 50u}) on.way.send(on.way.add(length));
    on.way.flush();
    on.loop.run();
    CHECK(on.way.there.heads.size() == 2);
    CHECK(on.way.there.asked == 3);
    on.way.resume();
    on.loop.run();
    CHECK(on.way.there.heads.size() == 2);
    CHECK(on.way.there.asked == 4);
    on.way.there.parks_from = 4;
    on.way.resume();
    on.loop.run();
    CHECK(on.way.there.heads.size() == 4);
    on.way.there.parks_from = 100;
    on.way.resume();
    on.loop.run();
    on.way.check_all_arrived();
}

TEST_CASE("a parked frame stops a fast sender: what was not asked for stays out of memory") {
    memory_road on(1000);
    on.way.there.parks_from = 0;
    on.way.send(on.way.add(100'000));
    on.way.flush();
    on.loop.run();
    CHECK_FALSE(on.way.near.flushed());
    on.way.there.parks_from = 100;
    on.way.resume();
    on.loop.run();
    on.way.check_all_arrived();
}

TEST_CASE("after a refusal nothing is read any more, and nobody is told of a loss") {
    memory_road on;
    on.way.there.refuses = 1;
    for (int index = 0; index < 3; ++index) on.way.send(on.way.add(10));
    on.way.flush();
    on.loop.run();
    on.way.resume();
    on.loop.run();
    CHECK(on.way.there.heads.size() == 1);
    CHECK(on.way.there.asked == 2);
    CHECK(on.way.there.losses == 0);
}

TEST_CASE("a frame may be queued again as soon as it was sent") {
    memory_road on(200);
    parcel& again = on.way.add(50);
    int left = 9;
    again.when_sent = [&] {
        if (left-- > 0) on.way.near.send(again);
    };
    on.way.send(again);
    on.way.flush();
    on.loop.run();
    CHECK(again.times_sent == 10);
    CHECK(on.way.there.heads.size() == 10);
    CHECK(on.way.there.payloads.back() == again.payload);
}

TEST_CASE("a lane may be closed by the frame it has just sent") {
    memory_road on;
    parcel& last = on.way.add(10);
    parcel& never = on.way.add(10);
    last.when_sent = [&] { on.way.near.close(); };
    on.way.send(last);
    on.way.flush();
    on.way.send(never);
    on.way.flush();
    on.loop.run();
    CHECK(last.times_sent == 1);
    CHECK(never.times_sent == 0);
    CHECK(on.way.there.heads.size() == 1);
    CHECK(on.way.here.losses == 0);
    CHECK(on.way.there.losses == 1);
    CHECK(on.way.there.code == error::peer_died);
}

TEST_CASE("a lane may be closed by the frame that has just landed") {
    memory_road on;
    on.way.there.when_landed = [&] { on.way.far.close(); };
    for (int index = 0; index < 5; ++index) on.way.send(on.way.add(10));
    on.way.flush();
    on.loop.run();
    CHECK(on.way.there.heads.size() == 1);
    CHECK(on.way.there.losses == 0);
    CHECK(on.way.here.losses == 1);
}

TEST_CASE("stopped in the middle of a frame, a lane touches its memory no more") {
    memory_road on(100);
    parcel& half = on.way.add(10'000);
    on.way.send(half);
    on.way.flush();
    {
        const std::lock_guard lock(on.way.guard);
        on.way.near.stop();
        on.way.far.stop();
        half.payload = bytes();  // freed: a sanitizer sees any touch
    }
    on.loop.run();
    CHECK(half.times_sent == 0);
    CHECK(on.way.there.heads.empty());
    CHECK(on.way.here.losses + on.way.there.losses == 0);
}

TEST_CASE("the end of the stream is told once, after everything that came before it") {
    memory_road on;
    for (int index = 0; index < 3; ++index) on.way.send(on.way.add(1000));
    on.way.flush();
    {
        const std::lock_guard lock(on.way.guard);
        on.way.near.close();
    }
    on.loop.run();
    on.way.resume();
    on.loop.run();
    CHECK(on.way.there.heads.size() == 3);
    CHECK(on.way.there.losses == 1);
    CHECK(on.way.there.code == error::peer_died);
}

TEST_CASE("what has arrived is read before a failed send ends the lane") {
    memory_road on;
    parcel reason(42, random_bytes(500, 3), 1), answer(43, random_bytes(10, 4), 1);
    {
        // The far side says why and goes; the near side has something to say before it looks.
        const std::lock_guard lock(on.way.guard);
        on.way.far.send(reason);
        on.way.far.flush();
        on.way.far.close();
        on.way.near.send(answer);
        on.way.near.flush();
    }
    REQUIRE(on.way.here.heads.size() == 1);
    CHECK(on.way.here.payloads[0] == reason.payload);
    CHECK(on.way.here.losses == 1);
    CHECK(on.way.here.code == error::peer_died);
    on.loop.run();
    CHECK(answer.times_sent == 0);
    CHECK(on.way.here.losses == 1);
}

TEST_CASE("a failed send is told even while a frame is parked") {
    memory_road on;
    on.way.here.parks_from = 0;
    parcel early(1, random_bytes(10, 3), 1), answer(2, random_bytes(10, 4), 1);
    {
        const std::lock_guard lock(on.way.guard);
        on.way.far.send(early);
        on.way.far.flush();
    }
    on.loop.run();
    {
        const std::lock_guard lock(on.way.guard);
        on.way.far.close();
        on.way.near.send(answer);
        on.way.near.flush();
    }
    CHECK(on.way.here.heads.empty());
    CHECK(on.way.here.losses == 1);
}

TEST_CASE("bytes that are no frame are a protocol error") {
    event_loop loop(event_loop::virtual_time);
    auto ends = make_memory_links({loop, "near"}, {loop, "far"}, 1000);
    std::mutex guard;
    addressee owner;
    const auto made = make_lane(loop, guard, std::move(ends.first), owner);
    lane& reading = *made;
    {
        const std::lock_guard lock(guard);
        reading.resume();
    }
    const bytes noise(frame_bytes - 1, std::byte{0x11});
    const std::span<const std::byte> part(noise), one(noise.data(), 1);
    CHECK(ends.second->try_send(std::span(&part, 1)).bytes == noise.size());
    loop.run();
    CHECK(owner.losses == 0);  // it could still become one
    CHECK(ends.second->try_send(std::span(&one, 1)).bytes == 1);
    loop.run();
    CHECK(owner.losses == 1);
    CHECK(owner.code == error::protocol_error);
    CHECK(owner.asked == 0);
}

TEST_CASE("both directions of a lane are at work at once") {
    memory_road on(300);
    std::deque<parcel> back;
    {
        const std::lock_guard lock(on.way.guard);
        for (std::uint64_t index = 0; index < 50; ++index)
            on.way.far.send(back.emplace_back(index, random_bytes(index * 40, index + 100), 2));
        on.way.far.flush();
    }
    send_mixed(on.way, 50);
    on.loop.run();
    on.way.check_all_arrived();
    REQUIRE(on.way.here.payloads.size() == back.size());
    for (std::size_t index = 0; index < back.size(); ++index) CHECK(on.way.here.payloads[index] == back[index].payload);
}

TEST_CASE("a lane that could go on for long leaves turns to others, sending and receiving") {
    constexpr std::size_t frames = 256, payload_bytes = 64 * KiB;
    constexpr std::size_t most_between = 2 * MiB;  // what a lane moves in a turn, and a batch more
    memory_road on(2 * frames * payload_bytes);
    std::size_t sent = 0, landed = 0;
    for (std::size_t index = 0; index < frames; ++index) {
        on.way.add(payload_bytes).when_sent = [&] { sent += payload_bytes; };
        on.way.send(on.way.parcels.back());
    }
    on.way.there.when_landed = [&] { landed += payload_bytes; };
    bystander beside(on.loop, {&sent, &landed}, frames * payload_bytes);
    on.way.flush();
    on.loop.run();
    on.way.check_all_arrived();
    CHECK(sent == frames * payload_bytes);
    CHECK(beside.most() <= most_between);
}
