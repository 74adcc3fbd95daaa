// How long a cache line takes from one core to another and back, in nanoseconds: the least of many short trials, so other work on the machine
// shows little. A virtual machine's cores move about its host; where two of them share no cache every copy between ranks takes several times
// as long, and times measured then cannot be compared with others.
#include "stopwatch.hpp"

#include "base/core_set.hpp"

#include <atomic>
#include <cstdio>
#include <thread>

namespace {

using tutti::core_set;

constexpr int trials = 200, exchanges = 200;

void stay_on(int core) {
    core_set one;
    one.add(core);
    one.bind_this_thread();
}

/// Seconds for one exchange.
double distance(int here, int there) {
    alignas(64) std::atomic<int> line{0};
    // Odd numbers are this core's, even ones the other's.
    std::thread other([&line, there] {
        stay_on(there);
        for (int turn = 0; turn < trials * exchanges; ++turn) {
            while (line.load(std::memory_order_acquire) != 2 * turn + 1) {}
            line.store(2 * turn + 2, std::memory_order_release);
        }
    });
    stay_on(here);
    int turn = 0;
    const double seconds = bench::least_seconds(
        [&] {
            for (int count = 0; count < exchanges; ++count, ++turn) {
                line.store(2 * turn + 1, std::memory_order_release);
                while (line.load(std::memory_order_acquire) != 2 * turn + 2) {}
            }
        },
        trials);
    other.join();
    return seconds / exchanges;
}

}  // namespace

int main() {
    const core_set cores = core_set::of_this_thread();
    // One core is as near to itself as can be.
    std::printf("%.0f\n", cores.count() < 2 ? 0.0 : 1e9 * distance(cores.at(0), cores.at(1)));
}
