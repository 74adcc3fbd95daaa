#include "digits/training.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace digits {

plan plan_of(const options& chosen, const tutti::communicator& world) {
    plan how;
    how.batch = chosen.batch;
    how.rate = chosen.rate;
    how.seed = chosen.seed;
    how.rank = world.rank();
    how.ranks = world.size();
    return how;
}

run_report describe(const options& chosen, int ranks) {
    run_report report;
    report.ranks = ranks;
    report.batch = chosen.batch;
    report.rate = chosen.rate;
    report.seed = chosen.seed;
    report.data = chosen.data;
    return report;
}

epoch_report describe(int epoch, double loss, double accuracy, double samples_per_second) {
    epoch_report report;
    report.epoch = epoch;
    report.loss = loss;
    report.accuracy = accuracy;
    report.samples_per_second = samples_per_second;
    if (!std::isfinite(report.loss))
        throw std::runtime_error(fmt::format("the loss is no longer a number in epoch {}: try a smaller --rate", epoch));
    return report;
}

tutti::task<bool> identical_on_all(tutti::communicator& world, std::span<const float> values) {
    auto lowest = bits(values);
    auto highest = lowest;
    co_await world.all_reduce(lowest, tutti::min);
    co_await world.all_reduce(highest, tutti::max);
    co_return lowest == highest;
}

void print(std::FILE* where, const std::string& line) {
    fmt::print(where, "{}\n", line);
    std::fflush(where);  // a launcher reads through a pipe
}

}  // namespace digits
