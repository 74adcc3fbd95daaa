#include "support/ranks.hpp"
#include "support/sanitizers.hpp"
#include "support/seeds.hpp"

#include "runtime/background.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <random>

namespace messages_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::run_ranks;

namespace {

task<> pass_around(communicator& world) {
    const int next = (world.rank() + 1) % world.size(), previous = (world.rank() + world.size() - 1) % world.size();
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{200'000}}) {
        std::vector<float> mine(count, static_cast<float>(world.rank())), theirs(count);
        auto sent = world.send(mine, next);
        const received what = co_await world.recv(theirs, previous);
        co_await std::move(sent);
        CHECK(what == received{previous, 0, count, data_type::f32});
        CHECK(theirs == std::vector<float>(count, static_cast<float>(previous)));
        // The same as one call.
        std::fill(theirs.begin(), theirs.end(), -1.0f);
        received told;
        co_await world.exchange(recv_from(theirs, previous, 7, &told), send_to(mine, next, 7));
        CHECK(told == received{previous, 7, count, data_type::f32});
        CHECK(theirs == std::vector<float>(count, static_cast<float>(previous)));
    }
}

task<> keep_order(communicator& world) {
    constexpr int messages = 200;
    std::vector<std::vector<int>> data(messages, std::vector<int>(100));
    std::vector<future<>> sent;
    std::vector<future<received>> arriving;
    for (int index = 0; index < messages; ++index) {
        auto& each = data[static_cast<std::size_t>(index)];
        if (world.rank() == 0) std::iota(each.begin(), each.end(), index);
        if (world.rank() == 0) sent.push_back(world.send(each, 1));
        else arriving.push_back(world.recv(each, 0));
        if (index % 10 == 0) co_await world.barrier();  // collectives in between change nothing
    }
    for (auto& each : sent) co_await std::move(each);
    for (auto& each : arriving) co_await std::move(each);
    for (int index = 0; index < messages; ++index) CHECK(data[static_cast<std::size_t>(index)].back() == index + 99);
}

task<> exchange_at_once(communicator& world) {
    // Everybody with everybody, itself included, both directions of each pair at once.
    const auto size = static_cast<std::size_t>(world.size());
    std::vector<std::vector<int>> out(size), in(size, std::vector<int>(10'000));
    std::vector<transfer> parts;
    for (rank peer = 0; peer < world.size(); ++peer) {
        const auto which = static_cast<std::size_t>(peer);
        out[which].assign(10'000, 100 * world.rank() + peer);
        parts.push_back(recv_from(in[which], peer));
        parts.push_back(send_to(out[which], peer));
    }
    auto begun = world.exchange(parts);
    co_await std::move(begun);
    for (rank peer = 0; peer < world.size(); ++peer)
        CHECK(in[static_cast<std::size_t>(peer)] == std::vector<int>(10'000, 100 * peer + world.rank()));
}

/// A size is of opaque elements alone, wherever a buffer may have it from.
task<> leave_a_size(communicator& world) {
    std::vector<float> values(3, static_cast<float>(world.rank()));
    const_buffer sent(std::span<const float>{values});
    sent.opaque_bytes = 8;
    if (world.rank() == 0) co_await world.send(sent, 1);
    else co_await world.recv(values, 0);
    CHECK(values == std::vector<float>(3));
}

// ---- a server and its clients

constexpr message_tag ask = 1, answer = 2, stop = 3;

task<> serve(communicator& world, int& served) {
    std::vector<std::int64_t> question(1000);
    for (int running = world.size() - 1; running > 0;) {
        const received next = co_await world.probe(any_source, any_tag);
        CHECK(world.try_probe(next.source, next.tag) == next);
        const received got = co_await world.recv(question, next.source, next.tag);
        CHECK(got == next);
        if (got.tag == stop) {
            --running;
            continue;
        }
        CHECK(got.count == static_cast<std::size_t>(got.source));
        std::vector<std::int64_t> added{
            std::accumulate(question.begin(), question.begin() + static_cast<std::ptrdiff_t>(got.count), std::int64_t{0})};
        co_await world.send(added, got.source, answer);
        ++served;
    }
    CHECK_FALSE(world.try_probe(any_source, any_tag));
}

task<> ask_often(communicator& world) {
    std::vector<std::int64_t> question(static_cast<std::size_t>(world.rank())), reply(1), nothing;
    for (int turn = 0; turn < 20; ++turn) {
        std::fill(question.begin(), question.end(), turn);
        co_await world.send(question, 0, ask);
        co_await world.recv(reply, 0, answer);
        CHECK(reply[0] == turn * world.rank());
    }
    co_await world.send(nothing, 0, stop);
}

// ---- anything, over networks of all kinds

/// Every rank sends so many messages of each tag to every rank, in random order and lengths, and receives them in another.
task<> scramble(communicator& world, std::uint64_t seed) {
    constexpr int each_way = 6;
    constexpr message_tag tags = 3;
    std::mt19937_64 random{seed * 64 + static_cast<std::uint64_t>(world.rank())};
    std::vector<transfer> parts;
    std::deque<std::vector<std::uint32_t>> memory;
    std::deque<received> told;
    std::vector<std::pair<rank, message_tag>> ways;
    for (rank peer = 0; peer < world.size(); ++peer)
        for (message_tag tag = 0; tag < tags; ++tag)
            for (int index = 0; index < each_way; ++index) ways.emplace_back(peer, tag);
    std::shuffle(ways.begin(), ways.end(), random);
    std::map<std::pair<rank, message_tag>, std::uint32_t> numbers;
    for (const auto& [peer, tag] : ways) {
        auto& data = memory.emplace_back(random() % 3 == 0 ? 1 + random() % 20'000 : 1 + random() % 10);
        data.assign(data.size(), numbers[{peer, tag}]++);
        parts.push_back(send_to(data, peer, tag));
    }
    std::shuffle(ways.begin(), ways.end(), random);
    const std::size_t sends = parts.size();
    for (const auto& [peer, tag] : ways) {
        // One of the tags is received from anybody.
        parts.push_back(recv_from(memory.emplace_back(20'000), tag == 2 ? any_source : peer, tag, &told.emplace_back()));
    }
    std::vector<future<>> begun;
    for (std::size_t first = 0; first < parts.size();) {
        const std::size_t count = std::min<std::size_t>(1 + random() % 5, parts.size() - first);
        begun.push_back(world.exchange(std::span(parts).subspan(first, count)));
        first += count;
        if (random() % 4 == 0) co_await sleep_for(std::chrono::microseconds(random() % 1000));
    }
    for (auto& each : begun) co_await std::move(each);
    numbers.clear();
    for (std::size_t index = 0; index < told.size(); ++index) {
        const received& what = told[index];
        const auto& data = memory[sends + index];
        REQUIRE(what.tag == ways[index].second);
        if (what.tag != 2) REQUIRE(what.source == ways[index].first);
        // In the order of their sends.
        const std::uint32_t number = numbers[{what.source, what.tag}]++;
        REQUIRE(std::all_of(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(what.count),
                            [number](auto each) { return each == number; }));
    }
}

/// The same among the ranks of two children and of all, at once.
task<> scramble_families(communicator& world, std::uint64_t seed) {
    auto by_half = world.split(world.rank() % 2, 0), turned = world.split(1, -world.rank());
    const auto half = co_await std::move(by_half), back = co_await std::move(turned);
    co_await when_all(scramble(*half, seed), scramble(world, seed + 1), scramble(*back, seed + 2));
    co_await half->close();
    co_await back->close();
}

// ---- ends

task<> expect_nothing_more(communicator& world) {
    if (world.rank() != 0) co_return;
    std::vector<int> data(10), copy(10);
    // Others leave without a word to the probe.
    auto hearing = world.probe(any_source, any_tag);
    auto heard = co_await as_result(std::move(hearing));
    REQUIRE_FALSE(heard);
    CHECK(heard.failure().code() == error::peer_left);
    // And that was no failure of the communicator.
    CHECK_FALSE(world.try_probe(any_source, any_tag));
    co_await world.exchange(send_to(data, 0), recv_from(copy, 0));
}

task<> use_what_is_over(communicator& world) {
    co_await world.barrier();
    world.abort("enough");
    std::vector<int> data(3);
    const auto check = [](auto ended) {
        REQUIRE_FALSE(ended);
        CHECK(ended.failure().code() == error::aborted);
        CHECK(ended.failure().details().cause.find("aborted: enough") != std::string::npos);
        return ended.failure().details().operation;
    };
    auto receiving = world.recv(data, any_source, any_tag);
    CHECK(check(co_await as_result(std::move(receiving))) == "recv i32 count 3 from any rank with any tag");
    auto probing = world.probe(1, 8);
    CHECK(check(co_await as_result(std::move(probing))) == "probe from rank 1 tag 8");
    auto trying = world.try_recv(data, 1, 8);
    REQUIRE(trying);
    CHECK(check(co_await as_result(std::move(*trying))) == "recv i32 count 3 from rank 1 tag 8");
    std::error_code seen;
    try {
        (void)world.try_probe(any_source);
    } catch (const failure& why) {
        seen = why.code();
    }
    CHECK(seen == error::aborted);
}

task<> send_and_leave(communicator& world) {
    std::vector<double> data(world.rank() == 0 ? 2000 : 5000, world.rank());
    if (world.rank() == 0) {
        for (int times = 0; times < 50; ++times) co_await world.send(data, 1, static_cast<message_tag>(times));
        co_return;  // and closes
    }
    co_await sleep_for(1s);
    for (message_tag tag = 50; tag-- > 0;) {
        const received what = co_await world.recv(data, any_source, tag);
        CHECK(what.count == 2000);
        CHECK(data[1999] == 0);
    }
}

task<> leave_with_a_probe(communicator& world, bool closes) {
    auto child = co_await world.split(0, 0);
    std::vector<float> data(3, 1);
    std::optional<future<received>> probing;
    if (world.rank() == 0) probing = child->probe(1, 7);
    co_await child->all_reduce(data, sum);
    if (closes) {
        co_await child->close();
        if (probing) {
            const auto ended = co_await as_result(std::move(*probing));
            CHECK((ended.failure().code() == error::closed || ended.failure().code() == error::peer_left));  // whichever came first
        }
    } else {
        if (probing) probing->cancel();
        child.reset();
    }
    co_await world.all_reduce(data, sum);
    CHECK(data[0] == 4);
}

task<> offer_and_leave(communicator& world, std::string& cause) {
    std::vector<double> data(200'000);
    if (world.rank() == 0) {
        auto sent = world.send(data, 1);  // more than leaves unasked
        std::error_code mine;
        try {
            co_await world.close(10ms);
        } catch (const failure& why) {
            mine = why.code();
        }
        CHECK(mine == error::timed_out);
        co_return;
    }
    co_await sleep_for(1s);
    auto receiving = world.recv(data, any_source, any_tag);
    auto ended = co_await as_result(std::move(receiving));
    REQUIRE(!ended);
    CHECK(ended.failure().code() == error::timed_out);
    CHECK(ended.failure().details().root == 0);
    cause = ended.failure().details().cause;
}

struct ending {
    std::error_code code;
    rank root = -1;
};

task<> wait_for_anybody(communicator& world, std::vector<ending>& endings) {
    std::vector<int> data(10);
    auto& mine = endings[static_cast<std::size_t>(world.rank())];
    try {
        co_await world.recv(data, any_source, any_tag);
    } catch (const failure& why) {
        mine = {why.code(), why.details().root};
    }
}

task<> kill_at(simulated_network& network, rank victim, time_point when) {
    co_await sleep_until(when);
    network.kill(victim);
}

}  // namespace

TEST_CASE("messages of all lengths pass around a ring") {
    for (const int size : {1, 2, 3, 7}) {
        CAPTURE(size);
        run_ranks(size, pass_around);
    }
}

TEST_CASE("messages between two ranks keep the order of their calls") { run_ranks(2, keep_order); }

TEST_CASE("all pairs of ranks exchange messages at once, and every rank with itself") {
    for (const int size : {1, 2, 6}) run_ranks(size, exchange_at_once);
}

TEST_CASE("messages of children do not meet those of their parent, or of each other") {
    for (std::uint64_t seed = 0; seed < test::seeds(5); ++seed) {
        CAPTURE(seed);
        run_ranks(5, [seed](communicator& world) { return scramble_families(world, seed); });
    }
}

TEST_CASE("a size that is left over from opaque elements is not one of others") { run_ranks(2, leave_a_size); }

TEST_CASE("a server answers whoever asks") {
    int served = 0;
    run_ranks(6, [&served](communicator& world) { return world.rank() == 0 ? serve(world, served) : ask_often(world); });
    CHECK(served == 100);
}

TEST_CASE("messages of random tags, lengths and times arrive in their order over every simulated network" * doctest::skip(test::sanitizer_wants_threads)) {
    for (std::uint64_t seed = 0; seed < test::seeds(20); ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random{seed};
        line_options line;
        line.latency = std::chrono::microseconds(random() % 200);
        line.jitter = std::chrono::microseconds(random() % 500);
        line.window_bytes = std::size_t{1} << (6 + random() % 11);
        context_options options;
        options.slice_bytes = std::size_t{1} << (6 + random() % 13);
        event_loop loop(event_loop::virtual_time);
        simulated_network network(seed, line);
        run_ranks(
            loop, 1 + static_cast<int>(seed % 5), [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); },
            [seed](communicator& world) { return scramble(world, seed); }, options);
    }
}

TEST_CASE("a probe that nobody can fulfil any more ends with peer_left, and nothing else does") { run_ranks(4, expect_nothing_more); }

TEST_CASE("messages fail on a failed communicator, each with its name") { run_ranks(2, use_what_is_over); }

TEST_CASE("what was sent before a rank left is received after it has left") { run_ranks(2, send_and_leave); }

TEST_CASE("who closes before its message has been taken fails with that on all ranks") {
    std::string cause;
    try {
        run_ranks(2, [&](communicator& world) { return offer_and_leave(world, cause); });
    } catch (const failure& why) {
        CHECK(why.code() == error::timed_out);  // closing tells it once more
    }
    CHECK(cause == "rank 0 closed its communicator, in which send f64 count 200000 to rank 1 tag 0 did not end in time");
}

TEST_CASE("a probe that nobody will fulfil holds up neither close nor who goes without") {
    for (const bool closes : {true, false}) {
        CAPTURE(closes);
        run_ranks(2, [closes](communicator& world) { return leave_with_a_probe(world, closes); });
    }
}

TEST_CASE("a rank that dies is named to everybody who waits for a message from anybody") {
    for (rank victim = 0; victim < 4; ++victim) {
        CAPTURE(victim);
        event_loop loop(event_loop::virtual_time);
        simulated_network network(3);
        std::vector<ending> endings(4);
        background others(loop);
        others.start(kill_at(network, victim, loop.now() + 50ms));
        run_ranks(
            loop, 4, [&](event_loop& on) { return std::make_unique<simulated_transport>(on, network); },
            [&](communicator& world) { return wait_for_anybody(world, endings); });
        for (rank each = 0; each < 4; ++each) {
            if (each == victim) continue;
            CHECK(endings[static_cast<std::size_t>(each)].code == error::peer_died);
            CHECK(endings[static_cast<std::size_t>(each)].root == victim);
        }
    }
}

}  // namespace messages_test
