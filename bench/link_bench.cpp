// Measures links without anything above them: bytes one way and both ways, and the time of a small message there and back. TCP on
// loopback, shared memory as between processes, and memory as in tests, between two threads, each with its loop, and on one.
#include "stopwatch.hpp"
#include "transport/memory_transport.hpp"
#include "transport/shm_transport.hpp"
#include "transport/stream.hpp"
#include "transport/tcp_transport.hpp"

#include <tutti/when_all.hpp>

#include <cstdio>
#include <memory>
#include <thread>

namespace {

using namespace tutti;

constexpr std::size_t chunk_bytes = 256 * KiB;
constexpr std::size_t streamed_bytes = 256 * MiB;
constexpr int turns = 5'000;
constexpr int runs = 3;

/// Two linked ends, each on a loop; the loops may be the same.
struct road {
    std::unique_ptr<event_loop> first_loop = std::make_unique<event_loop>(), second_loop;
    std::unique_ptr<memory_network> network;
    std::unique_ptr<transport> first_transport, second_transport;
    std::unique_ptr<tutti::link> first, second;

    event_loop& other() { return second_loop ? *second_loop : *first_loop; }
};

task<> open(transport& from, transport& to, std::unique_ptr<tutti::link>& mine) {
    auto opened = co_await from.connect(to.address(), time_point::clock::now() + std::chrono::seconds(10));
    mine = std::move(opened).value();
}
task<> answer(transport& at, std::unique_ptr<tutti::link>& mine) {
    auto accepted = co_await at.accept();
    mine = std::move(accepted).value();
}

/// Runs both at once, each on its loop.
void run_both(road& over, task<> first, task<> second) {
    if (!over.second_loop) return run(*over.first_loop, when_all(std::move(first), std::move(second)));
    std::thread beside([&] { run(*over.second_loop, std::move(second)); });
    run(*over.first_loop, std::move(first));
    beside.join();
}

enum class kind { tcp, shm, memory };

std::unique_ptr<transport> listen(kind which, event_loop& on, memory_network& network) {
    if (which == kind::tcp) return tcp_transport::listen(on).value();
    if (which == kind::shm) return shm_transport::listen(on, std::make_shared<arena>(true), 0).value();
    return std::make_unique<memory_transport>(on, network);
}

road made(kind which, bool two_threads) {
    road over;
    if (two_threads) over.second_loop = std::make_unique<event_loop>();
    over.network = std::make_unique<memory_network>();
    over.first_transport = listen(which, *over.first_loop, *over.network);
    over.second_transport = listen(which, over.other(), *over.network);
    run_both(over, open(*over.first_transport, *over.second_transport, over.first), answer(*over.second_transport, over.second));
    return over;
}

task<> send_much(tutti::link& over) {
    const std::vector<std::byte> chunk(chunk_bytes);
    for (std::size_t sent = 0; sent < streamed_bytes; sent += chunk_bytes) (co_await send_all(over, chunk)).value();
}
task<> recv_much(tutti::link& over) {
    std::vector<std::byte> chunk(chunk_bytes);
    for (std::size_t received = 0; received < streamed_bytes; received += chunk_bytes) (co_await recv_all(over, chunk)).value();
}
task<> ping(tutti::link& over) {
    std::byte message[4]{};
    for (int i = 0; i < turns; ++i) {
        (co_await send_all(over, message)).value();
        (co_await recv_all(over, message)).value();
    }
}
task<> pong(tutti::link& over) {
    std::byte message[4]{};
    for (int i = 0; i < turns; ++i) {
        (co_await recv_all(over, message)).value();
        (co_await send_all(over, message)).value();
    }
}

void measure(const char* name, kind which, bool two_threads) {
    road over = made(which, two_threads);
    tutti::link &first = *over.first, &second = *over.second;
    const double one_way = bench::least_seconds([&] { run_both(over, send_much(first), recv_much(second)); }, runs);
    const double both_ways = bench::least_seconds(
        [&] { run_both(over, when_all(send_much(first), recv_much(first)), when_all(recv_much(second), send_much(second))); }, runs);
    const double round_trip = bench::least_seconds([&] { run_both(over, ping(first), pong(second)); }, runs) / turns;
    constexpr double gigabytes = static_cast<double>(streamed_bytes) * 1e-9;
    std::printf("%-20s %13.2f %20.2f %15.2f\n", name, gigabytes / one_way, gigabytes / both_ways, round_trip * 1e6);
}

}  // namespace

int main() {
    std::printf("%-20s %13s %20s %15s\n", "link", "one way GB/s", "both, each way GB/s", "round trip us");
    measure("TCP, two threads", kind::tcp, true);
    measure("TCP, one thread", kind::tcp, false);
    measure("shared, two threads", kind::shm, true);
    measure("shared, one thread", kind::shm, false);
    measure("memory, two threads", kind::memory, true);
    measure("memory, one thread", kind::memory, false);
}
