// The same collectives over a network whose latency, bandwidth and partial moves are drawn by chance.
#include "communicator/rehearsal.hpp"
#include "support/ranks.hpp"
#include "support/seeds.hpp"
#include "transport/simulated_transport.hpp"

namespace simulated_test {

using namespace tutti;
using test::programme;

namespace {

/// Every network of another kind, and the same for the same seed.
line_options line_of(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    line_options line;
    line.latency = std::chrono::microseconds(random() % 200);
    line.jitter = std::chrono::microseconds(random() % 500);
    line.bytes_per_second = random() % 3 == 0 ? 0 : 1e6 * static_cast<double>(1 + random() % 1000);
    line.window_bytes = std::size_t{1} << (6 + random() % 11);
    return line;
}

context_options options_of(std::uint64_t seed) {
    std::mt19937_64 random{seed + 1};
    context_options options;
    options.slice_bytes = std::size_t{1} << (6 + random() % 13);
    options.small_bytes = 1 << (random() % 13);
    options.lanes = random() % 2 == 0 ? 1 : 1 + static_cast<int>(random() % 8);
    return options;
}

void run_simulated(int size, std::uint64_t seed, const test::rank_body& body, context_options options) {
    event_loop loop(event_loop::virtual_time);
    simulated_network network(seed, line_of(seed));
    test::run_ranks(loop, size, [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); }, body, options);
}

task<> sum_fractions(communicator& world, std::vector<test::byte_vector>& results) {
    test::byte_vector data = test::make_elements(data_type::f32, 3000, static_cast<std::uint64_t>(world.rank()), test::contents::random);
    co_await world.all_reduce(buffer(data.data(), 3000, data_type::f32), avg);
    results[static_cast<std::size_t>(world.rank())] = data;
}

}  // namespace

TEST_CASE("collectives are right over every simulated network, one after the other and all at once") {
    for (std::uint64_t seed = 0; seed < test::seeds(20); ++seed) {
        CAPTURE(seed);
        const int size = 2 + static_cast<int>(seed % 6);
        const programme all = test::mixed(size, {0, 1, 33, 700}, static_cast<int>(seed));
        run_simulated(size, seed, [&](communicator& world) { return seed % 2 == 0 ? test::rehearse(world, all) : test::rehearse_at_once(world, all); },
                      options_of(seed));
    }
}

TEST_CASE("sums of fractions have the same bits on all ranks and over all networks") {
    test::byte_vector first;
    for (std::uint64_t seed = 0; seed < test::seeds(20); ++seed) {
        CAPTURE(seed);
        std::vector<test::byte_vector> results(5);
        run_simulated(5, seed, [&](communicator& world) { return sum_fractions(world, results); }, options_of(seed));
        if (first.empty()) first = results[0];
        for (const auto& each : results) CHECK(each == first);
    }
}

// ---- run after run

namespace {

struct repeated {
    test::call what;
    int size;
    bool deterministic;
};

/// Sums and products of fractions, of which every order has other last bits.
std::vector<repeated> repeated_calls() {
    using enum collective;
    std::vector<repeated> all;
    constexpr data_type types[] = {data_type::f32, data_type::bf16, data_type::f64, data_type::f16, data_type::cf32};
    std::size_t turn = 0;
    for (const collective kind : {all_reduce, reduce, reduce_scatter, scan, exclusive_scan, reduce_scatter_v, all_reduce, reduce_scatter})
        for (const int size : {3, 4, 5, 8, 7})
            for (const bool deterministic : {false, true}) {
                const reduction op = turn % 3 == 0 ? reduction(prod) : turn % 3 == 1 ? reduction(sum) : reduction(premul_sum(0.3));
                const std::size_t count = std::size_t{1} << turn % 10;
                all.push_back({{kind, types[turn % std::size(types)], op, 0, count + turn}, size, deterministic});
                ++turn;
            }
    return all;
}

task<> call_once(communicator& world, const test::call& what, const test::oracle& inputs, std::vector<test::byte_vector>& results) {
    test::part mine(world, what, inputs, false);
    auto begun = mine.begin();
    co_await std::move(begun);
    results[static_cast<std::size_t>(world.rank())] = mine.result();
}

std::vector<test::byte_vector> run_once(const repeated& one, const test::oracle& inputs, std::uint64_t seed) {
    std::vector<test::byte_vector> results(static_cast<std::size_t>(one.size));
    context_options options = options_of(seed);
    options.deterministic = one.deterministic;
    run_simulated(one.size, seed, [&](communicator& world) { return call_once(world, one.what, inputs, results); }, options);
    return results;
}

}  // namespace

TEST_CASE("a thousand runs, each with delays, slices and lanes of its own, give the same bits as the first of their kind") {
    int runs = 0;
    for (const repeated& one : repeated_calls()) {
        const test::oracle inputs(one.what, one.size, 7, test::contents::random);
        const auto first = run_once(one, inputs, 0);
        for (std::uint64_t seed = 1; seed <= 13; ++seed, ++runs) {
            CAPTURE(name(one.what.kind));
            CAPTURE(name(one.what.type));
            CAPTURE(one.what.count);
            CAPTURE(one.size);
            CAPTURE(one.deterministic);
            CAPTURE(seed);
            REQUIRE(run_once(one, inputs, seed) == first);
        }
    }
    CHECK(runs >= 1000);
    MESSAGE(runs, " runs, seeds 1 to 13 of each kind");
}

TEST_CASE("a network that moves one byte at a time is slow, and right") {
    const programme all = test::mixed(3, {5}, 4);
    event_loop loop(event_loop::virtual_time);
    line_options line;
    line.window_bytes = 1;
    simulated_network network(1, line);
    context_options options;
    options.handshake = std::chrono::seconds(60);
    const time_point begun = loop.now();
    test::run_ranks(loop, 3, [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); },
                    [&](communicator& world) { return test::rehearse(world, all); }, options);
    CHECK(loop.now() - begun > 1000 * line.latency);
}

}  // namespace simulated_test
