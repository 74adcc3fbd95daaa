// Trains a perceptron on handwritten digits, on as many ranks as there are. The loop is in train(); everything it uses stands in the
// files beside this one, and none of them knows of other processes.
#include "digits/input_error.hpp"
#include "digits/learner.hpp"
#include "digits/options.hpp"
#include "digits/output_file.hpp"
#include "digits/plot.hpp"
#include "digits/report.hpp"

#include <tutti/tutti.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

namespace digits {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t bucket_bytes = 80 * tutti::KiB;  // about one layer: a layer leaves while the next is computed

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

// What can go wrong before the first step goes wrong here.
struct resources {
    resources(const options& chosen, tutti::rank me) : data(divide(load(chosen.data))) {
        if (me == 0 && chosen.json) json.emplace(*chosen.json);
        if (me == 0 && chosen.plot) plot.emplace(*chosen.plot);
    }

    split data;
    std::optional<output_file> json;  // rank 0 writes for all
    std::optional<output_file> plot;
};

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

epoch_report describe(const learner& student, int epoch, double seconds) {
    epoch_report report;
    report.epoch = epoch;
    report.loss = student.loss();
    report.accuracy = student.accuracy();
    report.samples_per_second = static_cast<double>(student.samples_per_epoch()) / seconds;
    if (!std::isfinite(report.loss))
        throw std::runtime_error(fmt::format("the loss is no longer a number in epoch {}: try a smaller --rate", epoch));
    return report;
}

// How much of this rank's communication was covered by computation. Taken step by step: a step that waits longer than it communicates,
// because its thread must get a core again, uncovers nothing of the others.
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

std::vector<tutti::parameter> without_memory(const network& net) {
    std::vector<tutti::parameter> all;
    for (const auto& each : net.parameters()) all.emplace_back(each.name, each.gradient.size(), tutti::data_type::f32);
    return all;
}

// The backward pass then writes into the buckets, and nothing is copied.
void place_gradients(network& net, const tutti::reducer& gradients) {
    for (std::size_t i = 0; i < net.parameters().size(); ++i) net.place_gradient(i, gradients.gradient<float>(i));
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

tutti::task<run_report> train(tutti::communicator& world, const options& chosen, const split& data, std::FILE* progress) {
    learner student(data, plan_of(chosen, world));
    co_await world.broadcast(student.net().values(), 0);  // all begin with the same bits, whatever computed them
    tutti::reducer gradients{world, without_memory(student.net()), {.first_bucket = bucket_bytes, .bucket = bucket_bytes}};
    place_gradients(student.net(), gradients);
    run_report report = describe(chosen, world.size());
    const auto begin = clock::now();
    for (int epoch = 1; epoch <= chosen.epochs; ++epoch) {
        const auto start = clock::now();
        coverage hidden;
        student.begin_epoch(epoch);
        while (student.backward([&](std::size_t parameter) { gradients.ready(parameter); })) {
            co_await gradients.finish();
            student.step();
            hidden.add(gradients.stats().last);
        }
        const double seconds = seconds_since(start);
        student.evaluate();
        co_await world.all_reduce(student.totals(), tutti::sum);
        report.epochs.push_back(describe(student, epoch, seconds));
        if (world.size() > 1) report.epochs.back().hidden = hidden.share();
        if (world.rank() == 0) print(progress, progress_line(report.epochs.back(), chosen.epochs));
    }
    report.seconds = seconds_since(begin);
    report.identical = co_await identical_on_all(world, student.net().values());
    co_return report;
}

constexpr int bad_input = 2;

void complain(std::string_view what) { fmt::print(stderr, "digits: {}\n", one_line(what)); }

// The lowest rank that cannot begin, or the number of ranks: nobody starts to wait for a rank that has given up.
tutti::task<int> first_unable(tutti::communicator& world, bool able) {
    std::int32_t lowest = able ? world.size() : world.rank();
    co_await world.all_reduce(std::span(&lowest, 1), tutti::min);
    co_return lowest;
}

// The exit code.
tutti::task<int> run(tutti::communicator& world, const options& chosen) {
    std::optional<resources> files;
    std::string wrong;
    try {
        files.emplace(chosen, world.rank());
    } catch (const input_error& error) {
        wrong = error.what();
    }
    const int unable = co_await first_unable(world, files.has_value());
    if (unable < world.size()) {
        if (files) wrong = fmt::format("rank {} could not begin", unable);
        complain(world.size() == 1 ? wrong : fmt::format("rank {}: {}", world.rank(), wrong));
        co_return bad_input;
    }
    std::FILE* const progress = chosen.json == "-" ? stderr : stdout;  // a program that reads JSON wants nothing else
    const run_report report = co_await train(world, chosen, files->data, progress);
    if (world.rank() == 0) print(progress, summary(report));
    if (files->json) files->json->write(to_json(report));
    if (files->plot) files->plot->write(to_svg(report));
    co_return report.identical ? 0 : 1;
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
    digits::options chosen;
    try {
        chosen = digits::parse_options(argc, argv, DIGITS_DATA);
    } catch (const digits::input_error& error) {
        digits::complain(error.what());
        return digits::bad_input;
    }
    if (!chosen.help.empty()) {
        fmt::print("{}", chosen.help);
        return 0;
    }
    return tutti::run([&](tutti::communicator& world) { return digits::run(world, chosen); });
}
