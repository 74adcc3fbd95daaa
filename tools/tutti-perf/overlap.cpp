#include "overlap.hpp"

#include "samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace perf {
namespace {

constexpr long trial_turns = 1'000'000;
constexpr int trials = 9;

void compute(long turns) noexcept {
    double value = 1;
    for (long i = 0; i < turns; ++i) value = value * 0.999999 + 1e-9;
    [[maybe_unused]] volatile double sink = value;
}

}  // namespace

computation::computation(double seconds) {
    std::array<double, trials> took;
    for (double& each : took) {
        const double began = now();
        compute(trial_turns);
        each = now() - began;
    }
    std::sort(took.begin(), took.end());
    turns_ = static_cast<long>(seconds / took[trials / 2] * trial_turns);
}

void computation::operator()() const noexcept { compute(turns_); }

overlap overlap_of(effort communication, effort computing, double both, int local_ranks, int cores) noexcept {
    overlap found{};
    found.alone = communication.seconds;
    found.computing = computing.seconds;
    found.both = both;
    const double spread = (communication.cpu_seconds + computing.cpu_seconds) * local_ranks / cores;
    found.least = std::max({communication.seconds, computing.seconds, spread});
    const double one_by_one = communication.seconds + computing.seconds;
    found.hidden = (one_by_one - both) / std::min(communication.seconds, computing.seconds);
    const double possible = one_by_one - found.least;
    found.of_possible = possible > 0 ? (one_by_one - both) / possible : std::numeric_limits<double>::quiet_NaN();
    return found;
}

std::string to_text(const overlap& found) {
    constexpr double milli = 1e3, percent = 100, noise = 0.1;
    const std::string of_possible =
        std::isnan(found.of_possible) ? "nothing could be" : fmt::format("{:.0f}% of what could be", found.of_possible * percent);
    const bool sound = found.hidden >= -noise && found.hidden <= 1 + noise;
    return fmt::format("# communication alone {:.3f} ms, computation alone {:.3f} ms, both {:.3f} ms, at best {:.3f} ms: {}\n",
                       found.alone * milli, found.computing * milli, found.both * milli, found.least * milli,
                       sound ? fmt::format("{:.0f}% hidden, {}", found.hidden * percent, of_possible)
                             : "they differ by more than the shorter one takes, so nothing can be told");
}

}  // namespace perf
