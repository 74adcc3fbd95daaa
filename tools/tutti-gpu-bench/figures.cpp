#include "figures.hpp"

#include "samples.hpp"

#include <algorithm>

namespace gpu_bench {

percentiles percentiles_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    return {values.front(), perf::percentile(values, 0.5), perf::percentile(values, 0.99), values.back()};
}

step_figures figures_of(const step_times& measured) {
    step_figures found;
    found.exposed = measured.both - measured.computing;
    found.efficiency = 1 - found.exposed / measured.communication;
    found.bound = std::max(measured.computing, measured.computing / measured.layers + measured.communication);
    found.of_bound = measured.both / found.bound;
    found.slowdown = measured.computing_meanwhile / measured.computing;
    return found;
}

}  // namespace gpu_bench
