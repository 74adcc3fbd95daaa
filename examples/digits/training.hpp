// The parts that training on the host and on a device share besides the learner: the plan, and the reports.
#pragma once

#include "digits/learner.hpp"
#include "digits/options.hpp"
#include "digits/report.hpp"

#include <tutti/tutti.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <string>

namespace digits {

using clock = std::chrono::steady_clock;

inline constexpr std::size_t bucket_bytes = 80 * tutti::KiB;  // about one layer: a layer leaves while the next is computed

inline double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

plan plan_of(const options& chosen, const tutti::communicator& world);
run_report describe(const options& chosen, int ranks);
/// Throws when the loss is no number.
epoch_report describe(int epoch, double loss, double accuracy, double samples_per_second);
tutti::task<bool> identical_on_all(tutti::communicator& world, std::span<const float> values);
void print(std::FILE* where, const std::string& line);

/// How much of this rank's communication was covered by computation. Taken step by step: a step that waits longer than it communicates,
/// because its thread must get a core again, uncovers nothing of the others.
class coverage {
public:
    void add(const tutti::overlap& step) {
        busy_ += step.busy;
        covered_ += std::max(tutti::duration(), step.busy - step.exposed);
    }
    double share() const {
        return static_cast<double>(covered_.count()) / static_cast<double>(std::max(busy_, tutti::duration(1)).count());
    }

private:
    tutti::duration busy_{};
    tutti::duration covered_{};
};

}  // namespace digits
