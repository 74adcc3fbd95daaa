#include "figures.hpp"

#include <algorithm>
#include <cmath>

namespace gpu_bench {
namespace {

double at(const std::vector<double>& sorted, double part) {
    const auto place = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
    return sorted[std::clamp<std::size_t>(place, 1, sorted.size()) - 1];
}

}  // namespace

percentiles percentiles_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    return {values.front(), at(values, 0.5), at(values, 0.99), values.back()};
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
