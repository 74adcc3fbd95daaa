// Computes figures from measured times. Knows nothing of devices.
#pragma once

#include <vector>

namespace gpu_bench {

/// Each a value that was measured. Zeros of nothing.
struct percentiles {
    double least = 0, p50 = 0, p99 = 0, most = 0;
};
percentiles percentiles_of(std::vector<double> values);

/// Seconds of a step that computes layers one after the other, each of which has something to communicate when it is done. 0: not measured.
struct step_times {
    double computing = 0;      // all layers, and nothing else
    double communication = 0;  // of all layers, and nothing else
    double both = 0;
    int layers = 1;
    double computing_meanwhile = 0;  // all layers, while others are communicated
};

struct step_figures {
    double exposed = 0;     // of the communication: what it adds to computing
    double efficiency = 0;  // 1 - exposed / communication: 1 hides all of it, 0 nothing
    double bound = 0;       // of a step: all computing, or all communication behind the first layer
    double of_bound = 0;    // both / bound: 1 is about as good as can be
    double slowdown = 0;    // of computing, by communication at the same time; 0: not measured
};
step_figures figures_of(const step_times& measured);

}  // namespace gpu_bench
