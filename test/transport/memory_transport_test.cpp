#include "transport/memory_transport.hpp"

#include "pump.hpp"
#include "stage.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

namespace tutti::test {
namespace {

constexpr std::size_t size = 300'000;

/// One rank on a thread of its own: it connects or accepts, exchanges bytes and closes.
void take_part(event_loop& loop, memory_transport& mine, const std::string& theirs, std::uint64_t seed, bytes& received) {
    auto over = theirs.empty() ? run(loop, mine.accept()) : run(loop, mine.connect(theirs, loop.now() + std::chrono::seconds{20}));
    pump both_ways{**over, random_bytes(size, seed), size, [&] { loop.stop(); }};
    const later begin{loop, duration{}, [&] { both_ways.start(); }};
    loop.run();
    received = both_ways.received();
}

}  // namespace

TEST_CASE("ranks on loops of different threads exchange bytes") {
    memory_network network{1000};
    event_loop left_loop;
    event_loop right_loop;
    memory_transport left{left_loop, network};
    memory_transport right{right_loop, network};
    bytes to_left;
    bytes to_right;
    std::thread other([&] { take_part(left_loop, left, right.address(), 1, to_left); });
    take_part(right_loop, right, "", 2, to_right);
    other.join();
    CHECK(to_left == random_bytes(size, 2));
    CHECK(to_right == random_bytes(size, 1));
}

TEST_CASE("a rank may connect before the other one has a transport") {
    event_loop loop{event_loop::virtual_time};
    memory_network network;
    memory_transport first{loop, network};
    std::unique_ptr<memory_transport> second;
    const later start{loop, std::chrono::seconds{1}, [&] { second = std::make_unique<memory_transport>(loop, network); }};
    CHECK(run(loop, first.connect("memory:1", loop.now() + std::chrono::seconds{2})));
    CHECK(second != nullptr);
}

TEST_CASE("a transport that accepts nobody turns away more links than its limit") {
    event_loop loop{event_loop::virtual_time};
    memory_network network{1};
    memory_transport client{loop, network};
    memory_transport server{loop, network};
    std::vector<std::unique_ptr<link>> links;
    const auto soon = [&] { return loop.now() + std::chrono::milliseconds{10}; };
    for (std::size_t i = 0; i < arrivals::limit; ++i) {
        auto one = run(loop, client.connect(server.address(), soon()));
        links.push_back(std::move(*one));
    }
    const auto refused = run(loop, client.connect(server.address(), soon()));
    REQUIRE_FALSE(refused);
    CHECK(std::string(refused.failure().what()).find("accepts no more links") != std::string::npos);
    CHECK(run(loop, server.accept()));
    CHECK(run(loop, client.connect(server.address(), soon())));
}

}  // namespace tutti::test
