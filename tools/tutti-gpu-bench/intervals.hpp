// Times between which something went on, and how much of them is common. Seconds on any clock.
#pragma once

#include <string>
#include <vector>

namespace gpu_bench {

struct interval {
    double began = 0, ended = 0;
    std::string name;
};

/// In order and apart from each other; what touches is one. Empty ones are nothing.
std::vector<interval> united(std::vector<interval> all);
/// Time in which at least one of them went on.
double length_of(const std::vector<interval>& all);
/// Time in which one of each went on.
double common_to(const std::vector<interval>& some, const std::vector<interval>& others);

}  // namespace gpu_bench
