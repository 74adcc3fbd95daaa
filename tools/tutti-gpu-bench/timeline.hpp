// A drawing of what went on when: a band for each kind, the time from left to right.
#pragma once

#include "intervals.hpp"

#include <string>
#include <vector>

namespace gpu_bench {

struct band {
    std::string name;
    std::vector<interval> all;
};

/// Rows such that nothing in one of them overlaps, as few as possible; by interval.
std::vector<int> rows_of(const std::vector<interval>& all);

/// SVG of its own, which needs nothing else. Time begins at 0, and is told in milliseconds.
std::string drawn(const std::string& title, const std::vector<band>& bands);

}  // namespace gpu_bench
