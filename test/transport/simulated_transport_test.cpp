#include "transport/simulated_transport.hpp"

#include "pump.hpp"
#include "stage.hpp"
#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <random>

namespace tutti::test {
namespace {

using std::chrono::milliseconds;

struct two_ranks {
    explicit two_ranks(std::uint64_t seed, line_options line) : network(seed, line) {}

    event_loop loop{event_loop::virtual_time};
    simulated_network network;
    simulated_transport zero{loop, network};
    simulated_transport one{loop, network};
};

/// Returns what happened, as a number, while both ranks sent each other the same bytes.
std::uint64_t exchange(std::uint64_t seed) {
    line_options line;
    line.jitter = milliseconds{1};
    two_ranks ranks{seed, line};
    auto ends = run(ranks.loop, open(ranks.loop, ranks.zero, ranks.one));
    pump left{*ends.one, random_bytes(200'000, 1), 200'000, {}};
    pump right{*ends.other, random_bytes(200'000, 2), 200'000, {}};
    left.start();
    right.start();
    ranks.loop.run();
    CHECK(left.received() == random_bytes(200'000, 2));
    CHECK(right.received() == random_bytes(200'000, 1));
    return ranks.network.history();
}

line_options plain(duration latency, double bytes_per_second) {
    line_options line;
    line.latency = latency;
    line.bytes_per_second = bytes_per_second;
    line.partial_moves = false;
    line.window_bytes = 64 * MiB;
    return line;
}

/// How long `size` bytes are on their way.
duration transfer(two_ranks& ranks, link& from, link& to, std::size_t size) {
    const auto begin = ranks.loop.now();
    pump sender{from, random_bytes(size, 1), 0, {}};
    pump receiver{to, {}, size, {}};
    sender.start_sending();
    receiver.start_receiving();
    ranks.loop.run();
    REQUIRE(receiver.received_bytes() == size);
    return ranks.loop.now() - begin;
}

}  // namespace

TEST_CASE("the same seed gives the same events at the same times, another seed gives others") {
    const auto seed = test::any_seed();
    CAPTURE(seed);
    CHECK(exchange(seed) == exchange(seed));
    CHECK(exchange(seed) != exchange(seed + 1));
}

TEST_CASE("bytes arrive after the line's latency and no faster than its bandwidth") {
    two_ranks ranks{1, plain(milliseconds{30}, 1e6)};
    auto ends = run(ranks.loop, open(ranks.loop, ranks.zero, ranks.one));
    CHECK(ranks.loop.now().time_since_epoch() == milliseconds{60});  // there and back
    CHECK(transfer(ranks, *ends.one, *ends.other, 1) == milliseconds{30} + std::chrono::microseconds{1});
    CHECK(transfer(ranks, *ends.one, *ends.other, 1'000'000) == milliseconds{1030});
    ranks.network.set(0, 1, plain(milliseconds{5}, 0));
    CHECK(transfer(ranks, *ends.one, *ends.other, 1'000'000) == milliseconds{5});
    CHECK(transfer(ranks, *ends.other, *ends.one, 10'000) == milliseconds{40});
}

TEST_CASE("partial moves go down to one byte in both directions") {
    line_options line;
    two_ranks ranks{7, line};
    auto ends = run(ranks.loop, open(ranks.loop, ranks.zero, ranks.one));
    std::byte place[16] = {};
    const std::span<const std::byte> out[] = {place};
    const std::span<std::byte> in[] = {place};
    bool one_sent = false;
    bool one_received = false;
    for (int i = 0; i < 200; ++i) {
        one_sent |= ends.one->try_send(out).bytes == 1;
        ranks.loop.run();
        one_received |= ends.other->try_recv(in).bytes == 1;
    }
    CHECK(one_sent);
    CHECK(one_received);
}

TEST_CASE("a killed rank breaks its links at both ends at once, and what was not received is lost") {
    two_ranks ranks{3, plain(milliseconds{1}, 0)};
    simulated_transport two{ranks.loop, ranks.network};
    auto broken = run(ranks.loop, open(ranks.loop, ranks.zero, ranks.one));
    auto sound = run(ranks.loop, open(ranks.loop, ranks.zero, two));
    pump unread{*broken.one, random_bytes(100, 1), 1, {}};
    pump other{*broken.other, {}, 1'000, {}};
    unread.start();
    ranks.loop.run();
    ranks.network.kill(1);
    ranks.loop.run();
    other.start_receiving();
    CHECK(unread.recv_code() == std::errc::connection_reset);
    CHECK(other.recv_code() == std::errc::connection_reset);
    CHECK(other.received_bytes() == 0);
    CHECK(transfer(ranks, *sound.one, *sound.other, 100) == milliseconds{1});
    const auto soon = ranks.loop.now() + milliseconds{10};
    CHECK(run(ranks.loop, ranks.one.accept()).failure().code() == error::closed);
    CHECK(run(ranks.loop, ranks.zero.connect(ranks.one.address(), soon)).failure().code() == error::refused);
}

TEST_CASE("a reset breaks the links between two ranks, who may connect again") {
    two_ranks ranks{4, plain(milliseconds{1}, 0)};
    auto broken = run(ranks.loop, open(ranks.loop, ranks.zero, ranks.one));
    pump waiting{*broken.one, {}, 1, {}};
    waiting.start();
    ranks.network.reset(1, 0);
    ranks.loop.run();
    CHECK(waiting.recv_code() == std::errc::connection_reset);
    auto again = run(ranks.loop, open(ranks.loop, ranks.one, ranks.zero));
    CHECK(transfer(ranks, *again.one, *again.other, 100) == milliseconds{1});
}

}  // namespace tutti::test
