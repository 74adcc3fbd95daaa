#include "measure.hpp"

#include "algorithm/chooser.hpp"
#include "trial.hpp"

#include <algorithm>

namespace perf {
namespace {

using namespace tutti;

task<double> largest(communicator& world, double value) {
    std::vector<double> all{value};
    co_await world.all_reduce(all, max);
    co_return all[0];
}

task<std::int64_t> total(communicator& world, std::int64_t value) {
    std::vector<std::int64_t> all{value};
    co_await world.all_reduce(all, sum);
    co_return all[0];
}

/// One operation whose result is known.
task<std::int64_t> count_wrong(communicator& world, trial& what) {
    what.fill();
    co_await world.barrier();
    co_await what.start(world);
    const std::int64_t wrong = co_await total(world, what.wrong());
    what.clear();
    co_return wrong;
}

/// Seconds of one of `repeats` operations, on the slowest rank.
task<double> repeat(communicator& world, trial& what, int repeats) {
    const double began = now();
    for (int i = 0; i < repeats; ++i) co_await what.start(world);
    co_return co_await largest(world, (now() - began) / repeats);
}

/// Fewer operations when each is long, and then about 0.2 s when they are short: connections and caches settle.
task<double> warm_up(communicator& world, trial& what) {
    co_await world.barrier();
    const int first = what.bytes() >= 64 * MiB ? 1 : what.bytes() >= 4 * MiB ? 3 : 20;
    const double seconds = co_await repeat(world, what, first);
    if (first < 20) co_return seconds;
    co_return co_await repeat(world, what, static_cast<int>(std::clamp(0.2 / seconds, 1.0, 4000.0)));
}

task<summary> time(communicator& world, trial& what, plan how) {
    stopwatch watch(how);
    for (int batch = 0; batch < how.batches; ++batch) {
        co_await world.barrier();
        watch.begin_batch();
        for (int i = 0; i < how.ops; ++i) {
            co_await what.start(world);
            watch.end_op();
        }
        watch.end_batch();
    }
    const std::vector<double> mine = watch.numbers();
    std::vector<double> all(mine.size() * static_cast<std::size_t>(world.size()));
    co_await world.all_gather(mine, all);
    co_return summarize(how, world.size(), all);
}

}  // namespace

task<row> measure(communicator& world, const options& given, std::uint64_t bytes) {
    trial what(given, bytes, world.rank(), world.size());
    row made;
    made.op = name(given.kind);
    made.bytes = what.bytes();
    made.count = what.count();
    made.type = name(given.type);
    const bool reduces = given.kind == collective::all_reduce || given.kind == collective::reduce || given.kind == collective::reduce_scatter;
    made.reduce_op = reduces ? name(given.reduce) : "none";
    made.ranks = world.size();
    made.transport = "tcp";
    made.algorithm = chooser(world.size()).choose(given.kind, what.bytes()).name;
    if (given.check) made.wrong = co_await count_wrong(world, what);
    const double seconds = co_await warm_up(world, what);
    plan how = plan_for(given.seconds, seconds);
    if (given.iterations > 0) how.ops = given.iterations;
    made.times = co_await time(world, what, how);
    co_return made;
}

}  // namespace perf
