// One piece of work, done by all ranks together and over and over: how long it takes. The work is anything that is called without
// arguments and gives something to await.
#pragma once

#include "options.hpp"
#include "samples.hpp"

#include <tutti/communicator.hpp>

#include <algorithm>

namespace perf {

/// Over all ranks.
tutti::task<double> largest(tutti::communicator& world, double value);
tutti::task<std::int64_t> total(tutti::communicator& world, std::int64_t value);
tutti::task<summary> summary_of(tutti::communicator& world, const stopwatch& watch, plan how);

/// Seconds of one of `repeats` turns, on the slowest rank, with the barriers between them if there are any.
template <class Work>
tutti::task<double> repeat(tutti::communicator& world, Work& work, int repeats, bool alone) {
    const double began = now();
    for (int i = 0; i < repeats; ++i) {
        if (alone) co_await world.barrier();
        co_await work();
    }
    co_return co_await largest(world, (now() - began) / repeats);
}

/// Fewer turns when each is long, and about 0.2 s of them (or --seconds) when they are short: connections and caches settle.
template <class Work>
tutti::task<double> warm_up(tutti::communicator& world, Work& work, const options& given, std::uint64_t bytes) {
    co_await world.barrier();
    const int first = bytes >= 64 * tutti::MiB ? 1 : bytes >= 4 * tutti::MiB ? 3 : 20;
    const double seconds = co_await repeat(world, work, first, given.alone);
    if (first < 20) co_return seconds;
    co_return co_await repeat(world, work, static_cast<int>(std::clamp(std::min(0.2, given.seconds) / seconds, 1.0, 4000.0)), given.alone);
}

/// `bytes`: about what the work moves, to guess how long it will take. The result is complete on every rank.
template <class Work>
tutti::task<summary> measured(tutti::communicator& world, Work& work, const options& given, std::uint64_t bytes) {
    plan how = plan_for(given.seconds, co_await warm_up(world, work, given, bytes));
    if (given.iterations > 0) how.ops = given.iterations;
    stopwatch watch(how);
    for (int batch = 0; batch < how.batches; ++batch) {
        co_await world.barrier();
        watch.begin_batch();
        for (int i = 0; i < how.ops; ++i) {
            if (given.alone) {
                watch.pause();
                co_await world.barrier();
                watch.resume();
            }
            co_await work();
            watch.end_op();
        }
        watch.end_batch();
    }
    co_return co_await summary_of(world, watch, how);
}

}  // namespace perf
