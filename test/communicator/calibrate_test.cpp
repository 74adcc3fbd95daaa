// Costs that are given, measured, agreed and inherited.
#include "communicator/calibrate.hpp"

#include "base/core_set.hpp"
#include "communicator/rehearsal.hpp"
#include "group/context_state.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"
#include "transport/simulated_transport.hpp"

#include <doctest/doctest.h>

namespace calibrate_test {

using namespace tutti;
using doctest::Approx;

namespace {

struct seen {
    std::vector<cost_model> costs, children;
    std::vector<std::string_view> choices, child_choices;  // of an all_reduce of 200 kB
    std::vector<std::size_t> slices;        // bytes
    std::vector<std::size_t> reduced_slices;
    duration joining{};                     // of the last rank
    explicit seen(int size)
        : costs(static_cast<std::size_t>(size)),
          children(costs.size()),
          choices(costs.size()),
          child_choices(costs.size()),
          slices(costs.size()),
          reduced_slices(costs.size()) {}
};

/// Returns the settings of a group, which only the inside of its context knows.
const engine_settings& settings_of(detail::group& which) { return which.engine().settings(); }

/// As test::run_ranks, but with options for each rank, and a look at the groups.
task<> one_rank(context& home, rank me, int size, std::shared_ptr<store> meeting, seen& all) {
    const time_point began = home.inner().loop().now();
    auto joining = home.join(test::world_of(me, size), std::move(meeting));
    const auto joined = co_await std::move(joining);
    all.joining = std::max(all.joining, home.inner().loop().now() - began);
    detail::group& mine = *home.inner().groups().back();
    const auto at = static_cast<std::size_t>(me);
    all.costs[at] = settings_of(mine).costs;
    all.slices[at] = settings_of(mine).slice_bytes;
    all.reduced_slices[at] = settings_of(mine).reduced_slice_bytes;
    all.choices[at] = mine.engine().chosen(collective::all_reduce, 200'000).name;
    auto splitting = joined->split(me % 2, me);
    const auto child = co_await std::move(splitting);
    detail::group& half = *home.inner().groups().back();
    all.children[at] = settings_of(half).costs;
    all.child_choices[at] = half.engine().chosen(collective::all_reduce, 200'000).name;
    std::vector<float> data(25'000, 1);
    co_await joined->all_reduce(data, sum);
    CHECK(data[24'999] == static_cast<float>(size));
    auto first = child->close();
    co_await std::move(first);
    auto second = joined->close();
    co_await std::move(second);
}

seen join_all(event_loop& loop, int size, const test::make_transport& make, const std::function<context_options(rank)>& options) {
    seen all(size);
    memory_table table;
    std::vector<std::unique_ptr<context>> homes;
    std::vector<task<>> ranks;
    for (rank me = 0; me < size; ++me) {
        homes.push_back(std::make_unique<context>(loop, make(loop), options(me)));
        ranks.push_back(one_rank(*homes.back(), me, size, memory_store(table), all));
    }
    run(loop, when_all(std::move(ranks)));
    return all;
}

seen join_simulated(int size, const line_options& line, const std::function<context_options(rank)>& options) {
    event_loop loop(event_loop::virtual_time);
    simulated_network network(1, line);
    return join_all(
        loop, size, [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); }, options);
}

context_options with(bool calibrate, cost_model costs = {}) {
    context_options options;
    options.calibrate = calibrate;
    options.costs = costs;
    return options;
}

}  // namespace

TEST_CASE("over a transport that was given all ranks and their children use the default costs, unless told otherwise") {
    const seen all = join_simulated(4, {}, [](rank) { return context_options(); });
    for (const auto& each : all.costs) CHECK(each == cost_model{});
    for (const auto& each : all.children) CHECK(each == cost_model{});
}

TEST_CASE(
    "ranks that share memory use other defaults than those that use TCP, and both as many cores as the ranks of rank 0's host may use") {
    for (const transport_kind over : {transport_kind::automatic, transport_kind::shm, transport_kind::tcp}) {
        CAPTURE(static_cast<int>(over));
        cost_model usual = over == transport_kind::tcp ? cost_model{} : shared_memory_costs;
        usual.cores = core_set::of_this_thread().count();
        event_loop loop;
        const seen all = join_all(
            loop, 3, [](event_loop&) { return nullptr; },
            [&](rank) {
                context_options options;
                options.transport = over;
                return options;
            });
        for (const auto& each : all.costs) CHECK(each == usual);
        for (const auto& each : all.children) CHECK(each == usual);
    }
}

TEST_CASE("ranks that share memory cut sums into shorter slices, unless rank 0 was told") {
    struct row {
        const char* name;
        int size;
        transport_kind over;
        int hosts;
        std::size_t told, expected, reduced = 0;
    };
    constexpr std::size_t nothing = 0, usual = 512 * KiB, shorter = 256 * KiB;
    for (const row& each :
         {row{"two, shared memory", 2, transport_kind::shm, 1, nothing, usual, shorter},
          row{"three, shared memory", 3, transport_kind::shm, 1, nothing, usual, shorter},
          row{"three, shared memory, told", 3, transport_kind::shm, 1, usual, usual},
          row{"two, TCP", 2, transport_kind::tcp, 1, nothing, usual}, row{"two hosts", 2, transport_kind::tcp, 2, nothing, usual},
          row{"two, TCP, told", 2, transport_kind::tcp, 1, 300 * KiB, 300 * KiB},
          row{"one", 1, transport_kind::tcp, 1, nothing, usual}, row{"one, told", 1, transport_kind::tcp, 1, 300 * KiB, 300 * KiB}}) {
        CAPTURE(each.name);
        event_loop loop;
        const seen all = join_all(
            loop, each.size, [](event_loop&) { return nullptr; },
            [&](rank me) {
                context_options options;
                options.transport = each.over;
                options.host = me % each.hosts;
                if (me == 0) options.slice_bytes = each.told;
                return options;
            });
        for (const std::size_t slice : all.slices) CHECK(slice == each.expected);
        for (const std::size_t slice : all.reduced_slices) CHECK(slice == each.reduced);
    }
}

TEST_CASE("rank 0's costs are everybody's, to the last bit, so ranks of different builds choose alike") {
    cost_model dear_rounds;
    dear_rounds.round = 1.0 / 3;
    const seen all = join_simulated(4, {}, [&](rank me) { return with(false, me == 0 ? dear_rounds : cost_model{}); });
    for (const auto& each : all.costs) CHECK(each == dear_rounds);
    for (const auto& each : all.children) CHECK(each == dear_rounds);
    for (const auto each : all.choices) CHECK(each == "direct");  // two rounds instead of three
    const seen usual = join_simulated(4, {}, [&](rank me) { return with(false, me == 1 ? dear_rounds : cost_model{}); });
    for (const auto each : usual.choices) CHECK(each == "halving_once");
}

TEST_CASE("rank 0's tuning is everybody's, by transport, and for children by their size") {
    const auto told = [](std::string_view text, rank who, transport_kind over) {
        return [=](rank me) {
            context_options options;
            options.transport = over;
            if (me == who) options.tuning = text;
            return options;
        };
    };
    const std::string_view text =
        "tcp all_reduce 4: 0 ring, 150000 tree, 300000 ring\nshm all_reduce 4: 0 star\n"
        "tcp all_reduce 2: 100000 ring\ntcp all_reduce 3: 0 star";
    const seen all = join_simulated(4, {}, told(text, 0, transport_kind::automatic));
    for (const auto each : all.choices) CHECK(each == "tree");
    for (const auto each : all.child_choices) CHECK(each == "ring");
    const seen usual = join_simulated(4, {}, told(text, 1, transport_kind::automatic));
    for (const auto each : usual.choices) CHECK(each == "halving_once");
    for (const auto each : usual.child_choices) CHECK(each == "recursive_doubling");
    const auto really = [&](transport_kind over) {
        event_loop loop;
        return join_all(
            loop, 4, [](event_loop&) { return nullptr; }, told(text, 0, over));
    };
    for (const auto each : really(transport_kind::shm).choices) CHECK(each == "star");
    for (const auto each : really(transport_kind::tcp).choices) CHECK(each == "tree");
}

TEST_CASE("measured over a network that is known, costs are that network's, on all ranks") {
    for (const int size : {2, 3, 4, 7}) {
        CAPTURE(size);
        line_options line;
        line.latency = std::chrono::microseconds(50);
        line.bytes_per_second = 1e9;
        line.window_bytes = 256 * KiB;
        const cost_model usual;
        const seen all = join_simulated(size, line, [&](rank me) { return with(me == 0, usual); });
        for (const auto& each : all.costs) CHECK(each == all.costs[0]);
        for (const auto& each : all.children) CHECK(each == all.costs[0]);
        const cost_model found = all.costs[0];
        CHECK(found.round + 2 * found.message == Approx(50e-6).epsilon(0.1));  // one sent, one received
        CHECK(found.message == usual.message);                                 // what is slower than it was thought waits longer
        CHECK(found.moved_byte == Approx(0.5e-9).epsilon(0.5));
        CHECK(found.cores == usual.cores);
    }
}

TEST_CASE("what is faster than it was thought has quicker rounds and calls; what is slower waits longer only" * doctest::skip(test::sanitizer_wants_threads)) {
    const cost_model thought;
    const auto found = [&](duration latency) {
        line_options line;
        line.latency = latency;
        return join_simulated(4, line, [&](rank me) { return with(me == 0, thought); }).costs[0];
    };
    const cost_model slow = found(std::chrono::milliseconds(1));
    CHECK(slow.round > 100 * thought.round);
    CHECK(slow.message == thought.message);
    const cost_model fast = found(std::chrono::nanoseconds(100));
    const double factor = fast.round / thought.round;
    CHECK(factor < 0.5);
    CHECK(fast.message == Approx(factor * thought.message));
}

TEST_CASE("where ranks share cores, a round that takes longer than a switch of threads is measured" * doctest::skip(test::sanitizer_wants_threads)) {
    cost_model thought = shared_memory_costs;
    thought.cores = 2;
    line_options line;
    line.latency = std::chrono::microseconds(50);
    const cost_model found = join_simulated(4, line, [&](rank me) { return with(me == 0, thought); }).costs[0];
    // A barrier is two rounds with a message each way: 8 rounds and 16 messages on two cores, and half of a rank's.
    CHECK(5 * found.round + 10 * found.message == Approx(100e-6).epsilon(0.05));
    CHECK(found.message == thought.message);
    CHECK(found.cores == 2);
}

TEST_CASE("measured on several hosts, what is between them is fitted and what is within stays") {
    line_options line;
    line.latency = std::chrono::microseconds(200);
    line.bytes_per_second = 1e8;
    for (const int ranks_per_host : {1, 2}) {
        CAPTURE(ranks_per_host);
        const seen all = join_simulated(4, line, [&](rank me) {
            context_options options = with(me == 0);
            options.host = me / ranks_per_host;
            return options;
        });
        for (const auto& each : all.costs) CHECK(each == all.costs[0]);
        for (const auto& each : all.children) CHECK(each == all.costs[0]);
        const cost_model found = all.costs[0], usual;
        // Lines within a host are as slow here, which the fit lays on those between: on rounds, which are measured first.
        CHECK(found.far_round > 150e-6);
        CHECK(found.far_round < 800e-6);
        if (ranks_per_host == 1) CHECK(found.far_byte > 2e-9);  // some lines are used at once
        CHECK(found.far_byte < 60e-9);
        CHECK(found.round == usual.round);
        CHECK(found.message == usual.message);
        CHECK(found.moved_byte == usual.moved_byte);
        CHECK(found.cores == usual.cores);
    }
}

TEST_CASE("a slower network is measured as slower, and what only another rank asks for is not done") {
    line_options line;
    line.latency = std::chrono::milliseconds(2);
    line.bytes_per_second = 1e7;
    const seen slow = join_simulated(4, line, [](rank me) { return with(me == 0); });
    CHECK(slow.costs[0].round > 1e-3);
    CHECK(slow.costs[0].moved_byte > 5e-9);
    const seen usual = join_simulated(4, line, [](rank me) { return with(me == 3); });
    CHECK(usual.costs[3] == cost_model{});
}

TEST_CASE("measuring takes less than 50 ms over a network of 10 Gbit/s" * doctest::skip(test::sanitized)) {
    for (const auto& [size, latency] : {std::pair(2, 1), std::pair(2, 50), std::pair(3, 20), std::pair(8, 50)}) {
        CAPTURE(size);
        CAPTURE(latency);
        line_options line;
        line.latency = std::chrono::microseconds(latency);
        line.bytes_per_second = 1.25e9;
        const duration without = join_simulated(size, line, [](rank) { return with(false); }).joining;
        const duration measuring = join_simulated(size, line, [](rank) { return with(true); }).joining - without;
        CHECK(measuring > std::chrono::milliseconds(1));
        CHECK(measuring < std::chrono::milliseconds(50));
    }
}

TEST_CASE("one rank alone has nothing to measure") {
    const seen all = join_simulated(1, {}, [](rank) { return with(true); });
    CHECK(all.costs[0] == cost_model{});
}

TEST_CASE("measured in real time it takes little, and all ranks agree") {
    event_loop loop;
    memory_network network;
    const auto began = std::chrono::steady_clock::now();
    const seen all = join_all(
        loop, 3, [&network](event_loop& on) { return std::make_unique<memory_transport>(on, network); }, [](rank) { return with(true); });
    const auto took = std::chrono::steady_clock::now() - began;
    for (const auto& each : all.costs) CHECK(each == all.costs[0]);
    MESSAGE("joined, measured, split and closed in ", std::chrono::duration<double>(took).count(), " s");
}

TEST_CASE("costs that are none are refused before anything is sent") {
    cost_model wrong;
    wrong.moved_byte = -1;
    try {
        join_simulated(1, {}, [&](rank) { return with(false, wrong); });
        FAIL("joined");
    } catch (const failure& why) {
        CHECK(why.code() == error::invalid_argument);
        CHECK(why.details().cause.starts_with(
            "costs are not negative, seconds at most a million, and cores 0 or at least 1; these are round="));
    }
}

}  // namespace calibrate_test
