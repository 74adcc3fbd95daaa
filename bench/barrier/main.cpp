// How long small operations take while a large one is under way: barriers and all-reduces of 8 bytes, in turns, on the communicator of the
// large all-reduce and on another one, one right after the other and with pauses. One rank of several; the script beside this file starts
// them. Takes the large one's bytes and how often it is repeated.
#include <tutti/communicator.hpp>
#include <tutti/context.hpp>
#include <tutti/sleep.hpp>
#include <tutti/world.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

namespace {

using namespace tutti;
using steady = std::chrono::steady_clock;

struct setting {
    std::size_t bytes;  // of the large one
    int repeats;
    duration pause;  // between a pair of small ones and the next
};

struct samples {
    std::vector<double> barriers, reductions;  // microseconds
    double large_ms = 0;                       // of all large ones
};

double us_since(steady::time_point began) { return std::chrono::duration<double, std::micro>(steady::now() - began).count(); }

/// Small ones on `world` until `large` has ended on some rank, or `pairs` of them: what the ranks reduce tells them all.
task<> repeat_small(communicator& world, const future<>* large, int pairs, duration pause, samples& into) {
    std::vector<double> ended{0};
    for (int done = 0; ended[0] == 0; ++done) {
        auto began = steady::now();
        co_await world.barrier();
        into.barriers.push_back(us_since(began));
        ended[0] = large ? large->ready() : done == pairs;
        began = steady::now();
        co_await world.all_reduce(ended, max);
        into.reductions.push_back(us_since(began));
        if (pause > duration{}) co_await sleep_for(pause);
    }
}

/// `other` may be `world`: the large one has its place in the order first.
task<samples> beside(communicator& world, communicator& other, std::vector<float>& data, setting what) {
    samples all;
    for (int turn = 0; turn < what.repeats; ++turn) {
        co_await world.barrier();
        const auto began = steady::now();
        auto large = world.all_reduce(data, max);
        co_await repeat_small(other, &large, 0, what.pause, all);
        co_await std::move(large);
        all.large_ms += us_since(began) / 1000;
    }
    co_return all;
}

double part(std::vector<double>& values, double share) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// A line for each kind: of every quantity the largest of all ranks.
task<> print(communicator& world, const char* transport, const char* where, const setting& what, samples all) {
    for (auto* values : {&all.barriers, &all.reductions}) {
        std::vector<double> told{part(*values, 0.5), part(*values, 0.99), part(*values, 1), all.large_ms / std::max(1, what.repeats)};
        const double count = static_cast<double>(values->size());
        co_await world.all_reduce(told, max);
        if (world.rank() == 0)
            std::printf("%-9s %5d %-20s %8.1f %-12s %8.0f %9.1f %9.1f %9.1f %9.0f\n", transport, world.size(), where,
                        std::chrono::duration<double, std::milli>(what.pause).count(), values == &all.barriers ? "barrier" : "8 bytes",
                        count, told[0], told[1], told[2], told[3]);
    }
}

task<int> measure(communicator& world, std::size_t bytes, int repeats, const char* transport) {
    std::vector<float> data(bytes / sizeof(float));
    auto splitting = world.split(0, world.rank());
    const auto other = co_await std::move(splitting);
    co_await world.all_reduce(data, max);  // opens the lanes
    for (const duration pause : {duration{}, duration(std::chrono::milliseconds(1))}) {
        const setting what{bytes, repeats, pause};
        samples alone;
        co_await repeat_small(*other, nullptr, 1000, pause, alone);
        co_await print(world, transport, "nothing", {bytes, 0, pause}, std::move(alone));
        auto elsewhere = co_await beside(world, *other, data, what);
        co_await print(world, transport, "another communicator", what, std::move(elsewhere));
        auto here = co_await beside(world, world, data, what);
        co_await print(world, transport, "the same", what, std::move(here));
    }
    co_await other->close();
    co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t bytes = 0;
    int repeats = 0;
    const auto number = [](const char* text, auto& into) {
        return std::from_chars(text, text + std::strlen(text), into).ec == std::errc();
    };
    if (argc != 4 || !number(argv[1], bytes) || !number(argv[2], repeats) || bytes < sizeof(float) || repeats < 1) {
        std::fputs("barrier-rank: takes bytes, repeats and the name of the transport\n", stderr);
        return 2;
    }
    return run([=](communicator& world) { return measure(world, bytes, repeats, argv[3]); });
}
