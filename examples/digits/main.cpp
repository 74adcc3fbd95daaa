// Trains a perceptron on handwritten digits. The loop is in train(); everything it uses stands in the files beside this one.
#include "digits/input_error.hpp"
#include "digits/learner.hpp"
#include "digits/options.hpp"
#include "digits/output_file.hpp"
#include "digits/plot.hpp"
#include "digits/report.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

namespace digits {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

// What can go wrong before the first step goes wrong here.
struct resources {
    explicit resources(const options& chosen) : data(divide(load(chosen.data))) {
        if (chosen.json) json.emplace(*chosen.json);
        if (chosen.plot) plot.emplace(*chosen.plot);
    }

    split data;
    std::optional<output_file> json;
    std::optional<output_file> plot;
};

run_report describe(const options& chosen, int ranks) {
    run_report report;
    report.ranks = ranks;
    report.batch = chosen.batch;
    report.rate = chosen.rate;
    report.seed = chosen.seed;
    report.data = chosen.data;
    return report;
}

epoch_report describe(const learner& student, int epoch, double seconds, std::optional<double> hidden) {
    epoch_report report;
    report.epoch = epoch;
    report.loss = student.loss();
    report.accuracy = student.accuracy();
    report.samples_per_second = static_cast<double>(student.samples_per_epoch()) / seconds;
    report.hidden = hidden;
    if (!std::isfinite(report.loss))
        throw std::runtime_error(fmt::format("the loss is no longer a number in epoch {}: try a smaller --rate", epoch));
    return report;
}

run_report train(const options& chosen, const split& data, std::FILE* progress) {
    plan how;
    how.batch = chosen.batch;
    how.rate = chosen.rate;
    how.seed = chosen.seed;
    learner student(data, how);
    run_report report = describe(chosen, how.ranks);
    const auto begin = clock::now();
    for (int epoch = 1; epoch <= chosen.epochs; ++epoch) {
        const auto start = clock::now();
        student.begin_epoch(epoch);
        while (student.backward([](std::size_t) {})) student.step();
        const double seconds = seconds_since(start);
        student.evaluate();
        report.epochs.push_back(describe(student, epoch, seconds, std::nullopt));
        fmt::print(progress, "{}\n", progress_line(report.epochs.back(), chosen.epochs));
        std::fflush(progress);  // a launcher reads through a pipe
    }
    report.seconds = seconds_since(begin);
    report.identical = true;
    return report;
}

void run(const options& chosen) {
    resources files(chosen);
    std::FILE* const progress = chosen.json == "-" ? stderr : stdout;  // a program that reads JSON wants nothing else
    const run_report report = train(chosen, files.data, progress);
    fmt::print(progress, "{}\n", summary(report));
    if (files.json) files.json->write(to_json(report));
    if (files.plot) files.plot->write(to_svg(report));
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
    try {
        const auto chosen = digits::parse_options(argc, argv, DIGITS_DATA);
        if (chosen.help.empty()) digits::run(chosen);
        else fmt::print("{}", chosen.help);
        return 0;
    } catch (const digits::input_error& error) {
        fmt::print(stderr, "digits: {}\n", digits::one_line(error.what()));
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "digits: {}\n", digits::one_line(error.what()));
        return 1;
    }
}
