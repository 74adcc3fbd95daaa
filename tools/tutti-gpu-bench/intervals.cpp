#include "intervals.hpp"

#include <algorithm>

namespace gpu_bench {

std::vector<interval> united(std::vector<interval> all) {
    std::erase_if(all, [](const interval& each) { return each.ended <= each.began; });
    std::sort(all.begin(), all.end(), [](const interval& left, const interval& right) { return left.began < right.began; });
    std::vector<interval> apart;
    for (const interval& each : all) {
        if (!apart.empty() && each.began <= apart.back().ended) apart.back().ended = std::max(apart.back().ended, each.ended);
        else apart.push_back({each.began, each.ended, ""});
    }
    return apart;
}

double length_of(const std::vector<interval>& all) {
    double length = 0;
    for (const interval& each : united(all)) length += each.ended - each.began;
    return length;
}

double common_to(const std::vector<interval>& some, const std::vector<interval>& others) {
    const auto left = united(some), right = united(others);
    double length = 0;
    for (auto a = left.begin(), b = right.begin(); a != left.end() && b != right.end();) {
        length += std::max(0.0, std::min(a->ended, b->ended) - std::max(a->began, b->began));
        if (a->ended < b->ended) ++a;
        else ++b;
    }
    return length;
}

}  // namespace gpu_bench
