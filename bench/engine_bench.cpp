// Measures the cost of the engine itself: all-reduces between ranks in one process, on one thread, over links in memory, with a clock that
// never waits. Prints microseconds of that thread for the work of all ranks together, and divided by ranks and rounds. In "flight" are
// operations that are issued before the first is awaited.
#include "engine/table.hpp"
#include "schedule/schedule.hpp"
#include "stopwatch.hpp"

#include <cstdio>

namespace {

using namespace tutti;
using test::table;

struct setting {
    int ranks;
    const char* algorithm;
    std::size_t count;  // floats
    int flight;
    int repeats;
};

/// Issues `flight` operations on every rank, again and again, and waits for all of them.
void repeat(table& ranks, std::vector<std::vector<float>>& data, const setting& what) {
    std::vector<future<>> going;
    going.reserve(static_cast<std::size_t>(what.ranks * what.flight));
    for (int done = 0; done < what.repeats; done += what.flight) {
        for (int i = 0; i < what.flight; ++i)
            for (rank me = 0; me < what.ranks; ++me) {
                auto& mine = data[static_cast<std::size_t>(me * what.flight + i)];
                going.push_back(ranks[me].issue(test::asking(collective::all_reduce, mine)));
            }
        ranks.settle();
        for (auto& each : going) each.get();
        going.clear();
    }
}

void measure(const setting& what) {
    const algorithm* entry = find(collective::all_reduce, what.algorithm);
    engine_settings settings;
    settings.forced = {entry};
    table ranks(what.ranks, settings);
    std::vector<std::vector<float>> data(static_cast<std::size_t>(what.ranks * what.flight), std::vector<float>(what.count));
    const double each = bench::least_seconds([&] { repeat(ranks, data, what); }) / what.repeats;
    const auto rounds = static_cast<double>(entry->build({0, what.ranks, 0}).rounds());
    std::printf("%5d %-19s %9zu %7d %10.2f %14.3f\n", what.ranks, what.algorithm, what.count * sizeof(float), what.flight, each * 1e6,
                each * 1e6 / what.ranks / rounds);
}

}  // namespace

int main() {
    std::printf("%5s %-19s %9s %7s %10s %14s\n", "ranks", "algorithm", "bytes", "flight", "us per op", "us rank round");
    for (const setting& each : {
             setting{2, "recursive_doubling", 1, 1, 20'000},
             setting{2, "recursive_doubling", 1, 100, 20'000},
             setting{2, "ring", 2, 1, 20'000},
             setting{2, "ring", 256 * 1024, 1, 200},
             setting{8, "ring", 8, 1, 2'000},
             setting{8, "ring", 8, 100, 2'000},
         })
        measure(each);
}
