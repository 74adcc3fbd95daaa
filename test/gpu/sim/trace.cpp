#include "gpu/sim/trace.hpp"

#include <algorithm>
#include <iterator>

namespace tutti::gpu::sim {
namespace {

struct span_of_time {
    time_point from;
    time_point to;
};

template <class Keep>
std::vector<interval> kept(const std::vector<interval>& all, Keep keep) {
    std::vector<interval> some;
    std::copy_if(all.begin(), all.end(), std::back_inserter(some), keep);
    return some;
}

// Disjoint, in order.
std::vector<span_of_time> spans(std::vector<interval> all) {
    std::sort(all.begin(), all.end(), [](const interval& a, const interval& b) { return a.started < b.started; });
    std::vector<span_of_time> made;
    for (const interval& each : all) {
        if (!made.empty() && each.started <= made.back().to) made.back().to = std::max(made.back().to, each.ended);
        else made.push_back({each.started, each.ended});
    }
    return made;
}

}  // namespace

std::vector<interval> trace::of(int stream) const {
    return kept(intervals, [stream](const interval& each) { return each.stream == stream; });
}

std::vector<interval> trace::of(work_kind kind) const {
    return kept(intervals, [kind](const interval& each) { return each.kind == kind; });
}

std::vector<interval> trace::named(const std::string& name) const {
    return kept(intervals, [&name](const interval& each) { return each.name == name; });
}

duration trace::overlap(work_kind one, work_kind other) const {
    duration both{};
    const auto first = spans(of(one)), second = spans(of(other));
    for (const span_of_time& a : first)
        for (const span_of_time& b : second) both += std::max(duration{}, std::min(a.to, b.to) - std::max(a.from, b.from));
    return both;
}

duration trace::busy(work_kind kind) const {
    duration all{};
    for (const span_of_time& each : spans(of(kind))) all += each.to - each.from;
    return all;
}

}  // namespace tutti::gpu::sim
