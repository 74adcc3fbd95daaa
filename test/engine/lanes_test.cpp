// Several lanes for bulk data: who carries how much, in which order it may come, and how they end.
#include "engine/table.hpp"
#include "transport/simulated_link.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>
#include <tuple>

using namespace tutti;
using test::asking;
using test::lanes_of_bulk;
using test::why;

namespace {

/// Links like `line` says for each lane.
template <class Line>
auto simulated(std::uint64_t seed, Line line) {
    auto history = std::make_shared<simulated_history>(seed);
    return [history, line, opened = std::uint64_t{0}](event_loop& loop, rank one, rank other, lane_id which) mutable {
        const line_options both = line(which.index);
        auto channel = std::make_shared<simulated_channel>(loop, history, both, both, opened++);
        return test::table::two_ends(make_simulated_link(channel, 0, fmt::format("rank {}", other)),
                                     make_simulated_link(channel, 1, fmt::format("rank {}", one)));
    };
}

/// A link within one host: bytes that no receiver waits for yet are not worth having under way.
class link_with_window final : public tutti::link {
public:
    explicit link_with_window(std::unique_ptr<tutti::link> over) : over_(std::move(over)) {}

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override { return over_->try_send(parts); }
    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override { return over_->try_recv(parts); }
    void when_readable(tutti::detail::runnable& work) noexcept override { over_->when_readable(work); }
    void when_writable(tutti::detail::runnable& work) noexcept override { over_->when_writable(work); }
    std::size_t window() const noexcept override { return 64 * KiB; }
    void close() noexcept override { over_->close(); }
    std::string peer() const override { return over_->peer(); }

private:
    std::unique_ptr<tutti::link> over_;
};

/// How often the links of one direction over one lane were used.
struct use {
    int sends = 0;
    int questions = 0;  // how much is under way
};

class watched_link final : public tutti::link {
public:
    watched_link(std::unique_ptr<tutti::link> over, use& counts) : over_(std::move(over)), counts_(counts) {}

    moved try_send(std::span<const std::span<const std::byte>> parts) noexcept override {
        const moved done = over_->try_send(parts);
        counts_.sends += done.bytes > 0 ? 1 : 0;
        return done;
    }
    moved try_recv(std::span<const std::span<std::byte>> parts) noexcept override { return over_->try_recv(parts); }
    void when_readable(tutti::detail::runnable& work) noexcept override { over_->when_readable(work); }
    void when_writable(tutti::detail::runnable& work) noexcept override { over_->when_writable(work); }
    std::size_t under_way() const noexcept override {
        ++counts_.questions;
        return 0;
    }
    void close() noexcept override { over_->close(); }
    std::string peer() const override { return over_->peer(); }

private:
    std::unique_ptr<tutti::link> over_;
    use& counts_;
};

line_options even_line(double bytes_per_second) {
    line_options line;
    line.bytes_per_second = bytes_per_second;
    line.partial_moves = false;
    return line;
}

/// Stops a loop after a while.
class stop_after {
public:
    stop_after(event_loop& loop, duration after) : loop_(loop) { loop_.start_timer(alarm_, loop_.now() + after); }

private:
    void end() noexcept { loop_.stop(); }
    event_loop& loop_;
    tutti::detail::alarm<&stop_after::end> alarm_{*this};
};

/// How long 16 MiB between two ranks take over lanes of these speeds, in bytes for each second.
double seconds_of(collective kind, bool near, const std::vector<double>& speeds) {
    const std::size_t count = 4 << 20;
    test::table table(2, lanes_of_bulk(static_cast<int>(speeds.size()), 64 * KiB));
    auto far = simulated(1, [speeds](int lane) { return even_line(speeds[static_cast<std::size_t>(lane)]); });
    table.over([far, near](event_loop& loop, rank one, rank other, lane_id which) mutable {
        auto ends = far(loop, one, other, which);
        if (near)
            ends = {std::make_unique<link_with_window>(std::move(ends.first)), std::make_unique<link_with_window>(std::move(ends.second))};
        return ends;
    });
    std::vector<float> data[2] = {std::vector<float>(count, 1), std::vector<float>(count, 2)};
    const time_point begun = table.loop().now();
    std::vector<future<>> ends;
    for (const rank me : {0, 1}) ends.push_back(table[me].issue(asking(kind, data[me])));
    table.settle();
    for (auto& each : ends) REQUIRE(!why(each).code);
    CHECK(data[1] == std::vector<float>(count, kind == collective::all_reduce ? 3.0f : 1.0f));
    return std::chrono::duration<double>(table.loop().now() - begun).count();
}

/// The frame of a broadcast, number 1, in slices of 64 bytes.
frame frame_of(const request& what, std::uint32_t place, std::uint32_t slice) {
    frame head;
    head.epoch = 7;
    head.sequence = 1;
    head.index = place;
    head.slice = slice;
    head.payload_bytes = 64;
    head.what = describe(what);
    head.what.algorithm = static_cast<std::uint8_t>(number(*find(collective::broadcast, "tree")));
    return head;
}

void put(tutti::link& over, const frame& head) {
    const auto header = encode(head);
    const std::vector<std::byte> payload(head.payload_bytes, std::byte{static_cast<unsigned char>(head.slice)});
    const std::span<const std::byte> parts[] = {header, payload};
    REQUIRE(over.try_send(parts).bytes == frame_bytes + payload.size());
}

}  // namespace

TEST_CASE("operations over lanes of any speed are right, one after the other and at once") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random{seed};
        const int size = 2 + static_cast<int>(random() % 4), lanes = 1 + static_cast<int>(random() % most_lanes);
        test::table table(size, lanes_of_bulk(lanes, std::size_t{64} << random() % 6));
        table.over(simulated(seed, [&random](int) {
            line_options line;
            line.latency = std::chrono::microseconds(random() % 200);
            line.jitter = std::chrono::microseconds(random() % 500);
            line.bytes_per_second = 1e6 * static_cast<double>(1 + random() % 1000);
            line.window_bytes = std::size_t{1} << (6 + random() % 11);
            return line;
        }));
        const bool at_once = seed % 2 == 0;
        std::vector<std::vector<std::int32_t>> data;
        std::vector<future<>> ends;
        for (int index = 0; index < 20; ++index) {
            const std::size_t count = random() % 2000;
            for (rank me = 0; me < size; ++me) data.emplace_back(count, index + me);
        }
        for (std::size_t index = 0; index < data.size(); ++index) {
            const auto kind = index / static_cast<std::size_t>(size) % 4 == 3 ? collective::broadcast : collective::all_reduce;
            ends.push_back(table[static_cast<rank>(index % static_cast<std::size_t>(size))].issue(asking(kind, data[index])));
            if (!at_once) table.settle();
        }
        table.settle();
        for (auto& each : ends) CHECK(!why(each).code);
        for (std::size_t index = 0; index < data.size(); ++index) {
            const int operation = static_cast<int>(index) / size;
            const int result = operation % 4 == 3 ? operation : size * operation + size * (size - 1) / 2;
            CHECK(data[index] == std::vector<std::int32_t>(data[index].size(), result));
        }
    }
}

TEST_CASE("sums of fractions have the same bits over however many lanes, of whatever speed") {
    std::vector<float> first;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random{seed};
        test::table table(5, lanes_of_bulk(1 + static_cast<int>(seed % 5), 256));
        table.over(simulated(seed, [&random](int) { return even_line(1e6 * static_cast<double>(1 + random() % 1000)); }));
        std::mt19937_64 fractions{99};
        std::vector<std::vector<float>> data(5, std::vector<float>(3000));
        for (auto& rank_data : data)
            for (float& each : rank_data) each = std::uniform_real_distribution<float>(-1, 1)(fractions);
        std::vector<future<>> ends;
        for (rank me = 0; me < 5; ++me)
            ends.push_back(table[me].issue(asking(collective::all_reduce, data[static_cast<std::size_t>(me)], avg)));
        table.settle();
        for (auto& each : ends) CHECK(!why(each).code);
        if (first.empty()) first = data[0];
        for (const auto& each : data) CHECK(each == first);
    }
}

TEST_CASE("lanes add up, and one at a quarter of the speed costs less than twice what it lacks") {
    for (const auto kind : {collective::all_reduce, collective::broadcast})
        for (const bool near : {false, true}) {
            CAPTURE(name(kind));
            CAPTURE(near);
            const double alone = seconds_of(kind, near, {1e8});
            for (const int lanes : {2, 4, 8}) {
                CAPTURE(lanes);
                std::vector<double> speeds(static_cast<std::size_t>(lanes), 1e8);
                const double even = seconds_of(kind, near, speeds);
                for (const int slow : {0, lanes - 1}) {
                    CAPTURE(slow);
                    speeds.assign(static_cast<std::size_t>(lanes), 1e8);
                    speeds[static_cast<std::size_t>(slow)] /= 4;
                    const double uneven = seconds_of(kind, near, speeds);
                    CHECK(even < 1.1 * alone / lanes);
                    // The speed of all, less 3/4 of a lane; no more than twice that is lost.
                    CHECK(1 / uneven > (1 - 2 * 0.75 / lanes) / even);
                }
            }
        }
}

TEST_CASE("equal lanes take frames in their turn, and none is asked how much is under way without a frame to send") {
    engine_settings settings = lanes_of_bulk(2, 64 * KiB);
    settings.forced = {find(collective::all_reduce, "ring")};
    test::table table(3, settings);
    std::map<std::tuple<rank, rank, int>, use> counts;  // from, to, lane
    table.over([&counts](event_loop& loop, rank one, rank other, lane_id which) {
        auto ends = make_memory_links({loop, "one"}, {loop, "other"}, 256 * KiB);
        return test::table::two_ends(std::make_unique<watched_link>(std::move(ends.first), counts[{one, other, which.index}]),
                                     std::make_unique<watched_link>(std::move(ends.second), counts[{other, one, which.index}]));
    });
    std::vector<std::vector<float>> data(3, std::vector<float>(3000, 1));
    for (int turn = 0; turn < 11; ++turn) {
        if (turn == 1)
            for (auto& each : counts) each.second = {};  // from now on all lanes are there
        std::vector<future<>> ends;
        for (rank me = 0; me < 3; ++me) ends.push_back(table[me].issue(asking(collective::all_reduce, data[static_cast<std::size_t>(me)])));
        table.settle();
        for (auto& each : ends) CHECK(!why(each).code);
    }
    for (rank me = 0; me < 3; ++me) {
        const use lanes[] = {counts[{me, (me + 1) % 3, 0}], counts[{me, (me + 1) % 3, 1}]};
        CHECK(lanes[0].sends == 20);  // four frames of an operation, one after the other
        CHECK(lanes[1].sends == 20);
        CHECK(lanes[0].questions <= 40);
        CHECK(lanes[1].questions <= 40);
    }
}

TEST_CASE("what a rank that has left does not take any more fails its operation as soon as the link ends") {
    for (const int lanes : {1, 2}) {
        CAPTURE(lanes);
        test::table table(2, lanes_of_bulk(lanes, 64 * KiB), 300);
        table.by_hand();
        std::vector<float> data(1000);
        auto called = table[0].issue(asking(collective::broadcast, data));
        std::vector<std::unique_ptr<tutti::link>> played;
        for (int index = 0; index < lanes; ++index) played.push_back(table.play(0, 1, {lane_kind::bulk, index}));
        table.settle();
        frame goodbye;
        goodbye.kind = frame_kind::goodbye;
        goodbye.epoch = 7;
        for (const auto& each : played) put(*each, goodbye);
        table.settle();
        CHECK_FALSE(called.ready());  // it may still read what it is sent
        played.clear();
        table.settle();
        const report told = why(called);
        CHECK(told.code == error::peer_left);
        CHECK(told.cause == "rank 1 left while rank 0 waited for it in broadcast f32 count 1000 root 0 #1");
        CHECK(table[0].lost.empty());
    }
}

TEST_CASE("frames land in the order in which lanes bring them, and none twice") {
    struct row {
        const char* what;
        std::vector<std::uint32_t> places;  // in turns over two lanes
        const char* cause;
    };
    const row rows[] = {
        {"in order", {0, 1, 2, 3}, ""},
        {"the other way round", {3, 2, 1, 0}, ""},
        {"mixed", {2, 0, 3, 1}, ""},
        {"one again that counts", {0, 1, 0}, "rank 1 sent frame 0 of broadcast f32 count 64 root 1 #1, the plan of rank 0 says frame 2"},
        {"one again that is early", {2, 2}, "rank 1 sent frame 2 of broadcast f32 count 64 root 1 #1, the plan of rank 0 says frame 0"},
        {"one too many", {0, 4}, "rank 1 sent frame 4 of broadcast f32 count 64 root 1 #1, the plan of rank 0 says frame 1"},
    };
    for (const row& each : rows) {
        CAPTURE(each.what);
        engine_settings settings = lanes_of_bulk(2, 64);
        settings.forced = {find(collective::broadcast, "tree")};
        test::table table(2, settings);
        table.by_hand();
        const std::unique_ptr<tutti::link> played[] = {table.play(0, 1, {lane_kind::bulk, 0}), table.play(0, 1, {lane_kind::bulk, 1})};
        std::vector<float> data(64);
        const request what = asking(collective::broadcast, data, sum, 1);
        auto called = table[0].issue(what);
        table.settle();
        for (std::size_t index = 0; index < each.places.size(); ++index) {
            put(*played[index % 2], frame_of(what, each.places[index], each.places[index]));
            table.settle();
        }
        const report told = why(called);
        if (*each.cause != '\0') {
            CHECK(told.code == error::protocol_error);
            CHECK(told.cause == each.cause);
            continue;
        }
        CHECK(!told.code);
        const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
        for (std::size_t index = 0; index < 256; ++index) CHECK(bytes[index] == index / 64);
    }
}

TEST_CASE("a rank may leave when its data is on its way: a slow lane still brings what a fast one's goodbye overtakes") {
    test::table table(2, lanes_of_bulk(3, 1000));
    table.over(simulated(3, [](int lane) { return even_line(lane == 1 ? 1e6 : 1e9); }));
    std::vector<float> data[2] = {std::vector<float>(5000, 1), std::vector<float>(5000, 2)};
    auto sent = table[0].issue(asking(collective::broadcast, data[0]));
    auto came = table[1].issue(asking(collective::broadcast, data[1]));
    table.settle();
    CHECK(!why(came).code);
    auto last = table[0].issue(asking(collective::broadcast, data[0]));
    std::vector<float> there(5000, 2);
    auto awaited = table[1].issue(asking(collective::broadcast, there));
    auto never = table[1].issue(asking(collective::broadcast, data[1]));
    const stop_after soon(table.loop(), std::chrono::milliseconds(1));
    table.settle();
    CHECK(last.ready());
    CHECK_FALSE(awaited.ready());
    table[0].engine().say_goodbye();
    table[0].engine().shut_down();
    table.settle();
    CHECK(!why(sent).code);
    CHECK(!why(awaited).code);
    CHECK(there == std::vector<float>(5000, 1));
    CHECK(why(never).code == error::peer_left);
    CHECK(table[1].lost.empty());
}

TEST_CASE("operations do not wait for lanes that are not made yet, and use those that are made later") {
    test::table table(2, lanes_of_bulk(3, 64));
    table.by_hand();
    std::vector<float> data[2] = {std::vector<float>(500, 1), std::vector<float>(500, 2)};
    for (const int index : {1, 0, 2}) {
        table.connect(0, 1, {lane_kind::bulk, index});
        std::vector<future<>> ends;
        for (const rank me : {0, 1}) ends.push_back(table[me].issue(asking(collective::all_reduce, data[me])));
        table.settle();
        for (auto& each : ends) CHECK(!why(each).code);
    }
    CHECK(data[0] == std::vector<float>(500, 12));
    table[1].engine().say_goodbye();
    table[0].engine().peer_left(1, {lane_kind::bulk, 0});  // it is there, so its own goodbye counts
    table.settle();
    auto late = table[0].issue(asking(collective::all_reduce, data[0]));
    table.settle();
    CHECK(why(late).code == error::peer_left);
}

TEST_CASE("a peer has left when every lane has brought its goodbye, was never made, or has ended") {
    test::table table(2, lanes_of_bulk(3, 64));
    table.by_hand();
    std::vector<float> data(500);
    auto called = table[0].issue(asking(collective::broadcast, data, sum, 1));
    auto ended = table.play(0, 1, {lane_kind::bulk, 0});
    auto said = table.play(0, 1, {lane_kind::bulk, 1});
    frame goodbye;
    goodbye.kind = frame_kind::goodbye;
    goodbye.epoch = 7;
    put(*said, goodbye);
    ended.reset();
    table.settle();
    CHECK(table[0].lost.size() == 1);
    table[0].engine().peer_left(1, {lane_kind::bulk, 0});
    table.settle();
    CHECK_FALSE(called.ready());
    table[0].engine().peer_left(1, {lane_kind::bulk, 2});
    table.settle();
    CHECK(why(called).code == error::peer_left);
}
