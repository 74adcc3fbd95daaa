// Measures the memory and the sockets of a rank when it has joined, and after an all-reduce around a ring; and the processor time of a
// rank that waits for nothing. One rank of many; the script beside this file starts them. Takes the nanoseconds since 1970 at which the
// launcher was started.
#include "communicator/run_as.hpp"

#include <tutti/sleep.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace tutti;

constexpr std::size_t reduced_bytes = 1 * MiB;
// Idle for so long that falling asleep and waking up, some 0.1 ms, do not count.
constexpr std::chrono::milliseconds settling{200}, idle{4000};

enum quantity { private_kib, shared_kib, sockets, quantities };  // shared: the rank's share of what it shares, its own memory included
using sample = std::array<double, quantities>;

double kib_of(const std::string& name) {
    std::ifstream text("/proc/self/smaps_rollup");
    std::string word;
    double kib = 0;
    while (text >> word)
        if (word == name) text >> kib;
    return kib;
}

double count_sockets() {
    double count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;  // the descriptor of this very iteration
        count += std::filesystem::read_symlink(each, gone).native().starts_with("socket:") ? 1 : 0;
    }
    return count;
}

sample now_held() { return {kib_of("Private_Clean:") + kib_of("Private_Dirty:"), kib_of("Pss:"), count_sockets()}; }

void print(const char* when, int ranks, double seconds, const std::vector<double>& all) {
    std::printf("%5d %-12s %9.2f", ranks, when, seconds);
    for (int which = 0; which < quantities; ++which) {
        std::vector<double> values;
        for (std::size_t at = static_cast<std::size_t>(which); at < all.size(); at += quantities) values.push_back(all[at]);
        std::ranges::sort(values);
        std::printf(" %11.0f %11.0f", values[values.size() / 2], values.back());
    }
    std::printf("\n");
}

task<> tell(communicator& world, const char* when, double seconds, sample mine) {
    std::vector<double> all(mine.size() * static_cast<std::size_t>(world.size())), slowest{seconds};
    co_await world.all_gather(mine, all);
    co_await world.all_reduce(slowest, max);
    if (world.rank() == 0) print(when, world.size(), slowest[0], all);
}

double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

/// Lets all ranks wait for nothing, and prints how busy the busiest was with that.
task<> rest(communicator& world) {
    co_await world.barrier();
    co_await sleep_for(settling);
    const double before = cpu_seconds();
    co_await sleep_for(idle);
    std::vector<double> used{cpu_seconds() - before};
    co_await world.all_reduce(used, max);
    if (world.rank() == 0)
        std::printf("%5d idle         %9.2f seconds, %.2f %% of a core\n", world.size(), std::chrono::duration<double>(idle).count(),
                    used[0] / std::chrono::duration<double>(idle).count() * 100);
}

task<int> look(communicator& world, std::chrono::nanoseconds began) {
    const auto since = [began] {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch() - began).count();
    };
    const double joined_seconds = since();
    const sample joined = now_held();
    co_await world.monitored_barrier();  // over links that there are, so that no rank opens others before all have looked
    std::vector<float> data(reduced_bytes / sizeof(float));
    co_await world.all_reduce(data, sum);
    const double reduced_seconds = since();
    data = {};
    const sample reduced = now_held();
    co_await world.monitored_barrier();
    co_await tell(world, "joined", joined_seconds, joined);
    co_await tell(world, "all-reduced", reduced_seconds, reduced);
    co_await rest(world);
    co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::int64_t began = 0;
    if (argc != 2 || std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), began).ec != std::errc()) {
        std::fputs("footprint-rank: takes the time of its start, in nanoseconds since 1970\n", stderr);
        return 2;
    }
    auto who = world_from_environment();
    if (!who) {
        std::fprintf(stderr, "footprint-rank: %s\n", who.failure().what());
        return 2;
    }
    return run_as(*who, {find(collective::all_reduce, "ring")},
                  [began](communicator& world, engine&) { return look(world, std::chrono::nanoseconds(began)); });
}
