// Time for benchmarks on a machine that may be shared: the least of several runs is closest to what the code costs.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace bench {

inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Work>
double least_seconds(Work&& work, int runs = 7) {
    double least = std::numeric_limits<double>::max();
    for (int run = 0; run < runs; ++run) {
        const double began = now();
        work();
        least = std::min(least, now() - began);
    }
    return least;
}

}  // namespace bench
