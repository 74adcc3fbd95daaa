#include "communicator/rehearsal.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"

#include <tutti/sleep.hpp>

#include <numeric>

namespace collectives_test {

using namespace tutti;
using test::programme;
using test::run_ranks;
using test::slices_of;

namespace {

programme everything(int size) {
    programme all;
    const auto ranks = static_cast<std::size_t>(size);
    int turn = size;
    for (const auto kind : test::all_kinds)
        for (const data_type type : test::all_types)
            for (const reduction& op : test::all_ops) {
                if (!defined(op.kind(), type) || !test::has_op(kind, op)) continue;
                // All types with all operators; counts and roots in turn.
                const std::size_t counts[] = {0, 1, ranks - 1, ranks, ranks + 1, 17, 1009};
                for (int some = 0; some < 2; ++some, ++turn) {
                    test::call what{kind, type, op, 0, counts[static_cast<std::size_t>(turn) % 7]};
                    if (has_root(kind)) what.root = turn / 2 % size;
                    all.add(what, size, some == 1);
                }
            }
    return all;
}

// ---- concurrency

constexpr int sums_at_once = 256;

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64{seed});
    return order;
}

task<> sum_many_at_once(communicator& world) {
    std::mt19937_64 lengths{99};  // the same on all ranks
    std::vector<std::vector<std::int64_t>> data;
    std::vector<future<>> begun;
    for (int index = 0; index < sums_at_once; ++index) data.emplace_back(lengths() % 1500, 1000 * index + world.rank());
    for (auto& each : data) begun.push_back(world.all_reduce(each, sum));
    for (const std::size_t next : shuffled(begun.size(), static_cast<std::uint64_t>(world.rank()))) co_await std::move(begun[next]);
    for (int index = 0; index < sums_at_once; ++index) {
        const auto& each = data[static_cast<std::size_t>(index)];
        CHECK(each == std::vector<std::int64_t>(each.size(), 4000 * index + 6));
    }
}

constexpr int steps = 1000;

/// Rank r begins up to 4 r operations before it waits for the first, and some ranks are slow now and then.
task<> run_ahead(communicator& world) {
    struct one {
        std::vector<std::int32_t> data;
        future<> begun;
    };
    std::deque<one> under_way;
    std::mt19937_64 delays{static_cast<std::uint64_t>(world.rank())};
    for (int step = 0; step < steps; ++step) {
        auto& next = under_way.emplace_back();
        next.data.assign(static_cast<std::size_t>(step % 50), step + world.rank());
        next.begun = world.all_reduce(next.data, sum);
        if (delays() % 20 == 0) co_await sleep_for(std::chrono::microseconds(delays() % 500));
        while (under_way.size() > static_cast<std::size_t>(4 * world.rank())) {
            auto& oldest = under_way.front();
            co_await std::move(oldest.begun);
            const int was = step + 1 - static_cast<int>(under_way.size());
            REQUIRE(oldest.data == std::vector<std::int32_t>(oldest.data.size(), 4 * was + 6));
            under_way.pop_front();
        }
    }
    for (auto& each : under_way) co_await std::move(each.begun);
}

}  // namespace

TEST_CASE("every collective gives the serial result for every type and operator, in place or not" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const int size : {1, 2, 3, 4, 5, 7, 8}) {
        const programme all = everything(size);
        for (const std::size_t slice_bytes : {std::size_t{64}, 256 * KiB}) {
            CAPTURE(size);
            CAPTURE(slice_bytes);
            run_ranks(size, [&all](communicator& world) { return test::rehearse(world, all); }, slices_of(slice_bytes));
        }
    }
}

TEST_CASE("large vectors travel in many slices" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const int size : {2, 5, 8}) {
        CAPTURE(size);
        const programme all = test::mixed(size, {50'021}, 0);
        run_ranks(size, [&all](communicator& world) { return test::rehearse(world, all); }, slices_of(4 * KiB));
    }
}

TEST_CASE("all kinds of collectives may be under way at the same time") {
    for (const int size : {2, 3, 8}) {
        CAPTURE(size);
        const programme all = test::mixed(size, {0, 1, 100, 3001}, size);
        run_ranks(size, [&all](communicator& world) { return test::rehearse_at_once(world, all); }, slices_of(256));
    }
}

TEST_CASE("256 sums of random lengths begun at once may be awaited in any order") { run_ranks(4, sum_many_at_once, slices_of(512)); }

TEST_CASE("ranks may be many operations apart, and slow now and then") { run_ranks(4, run_ahead); }

TEST_CASE("no rank leaves a barrier before all have come") {
    std::vector<int> inside(5);
    const auto meet = [](communicator& world, std::vector<int>& came) -> task<> {
        for (int round = 1; round <= 20; ++round) {
            co_await sleep_for(std::chrono::microseconds(world.rank() * round * 37 % 100));
            came[static_cast<std::size_t>(world.rank())] = round;
            co_await world.barrier();
            for (const int each : came) CHECK(each >= round);
        }
    };
    run_ranks(5, [&](communicator& world) { return meet(world, inside); });
}

}  // namespace collectives_test
