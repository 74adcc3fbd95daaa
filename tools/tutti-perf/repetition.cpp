#include "repetition.hpp"

namespace perf {

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

task<summary> summary_of(communicator& world, const stopwatch& watch, plan how) {
    const std::vector<double> mine = watch.numbers();
    std::vector<double> all(mine.size() * static_cast<std::size_t>(world.size()));
    co_await world.all_gather(mine, all);
    co_return summarize(how, world.size(), all);
}

}  // namespace perf
