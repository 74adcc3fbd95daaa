// Trains a perceptron on handwritten digits, on as many ranks as there are. The loop is in train(), and, for GPUs, in device_training.cpp;
// what they use stands in the files beside, of which the network and the data know of no other processes.
#include "digits/device_training.hpp"
#include "digits/input_error.hpp"
#include "digits/learner.hpp"
#include "digits/options.hpp"
#include "digits/output_file.hpp"
#include "digits/plot.hpp"
#include "digits/report.hpp"
#include "digits/training.hpp"

#include <tutti/tutti.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

namespace digits {
namespace {

// Opens all that the training needs, so that a failure comes before the first step.
struct resources {
    resources(const options& chosen, tutti::rank me, std::shared_ptr<void>& device) : data(divide(load(chosen.data))) {
        if (chosen.device) device = open_device();
        if (me == 0 && chosen.json) json.emplace(*chosen.json);
        if (me == 0 && chosen.plot) plot.emplace(*chosen.plot);
    }

    split data;
    std::optional<output_file> json;  // rank 0 writes for all
    std::optional<output_file> plot;
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
        const double speed = static_cast<double>(student.samples_per_epoch()) / seconds;
        report.epochs.push_back(describe(epoch, student.loss(), student.accuracy(), speed));
        if (world.size() > 1) report.epochs.back().hidden = hidden.share();
        if (world.rank() == 0) print(progress, progress_line(report.epochs.back(), chosen.epochs));
    }
    report.seconds = seconds_since(begin);
    report.identical = co_await identical_on_all(world, student.net().values());
    co_return report;
}

constexpr int bad_input = 2;
constexpr int no_device = 3;

void complain(std::string_view what) { fmt::print(stderr, "digits: {}\n", one_line(what)); }

// Returns the lowest rank that cannot begin, or the number of ranks, so that no rank waits for one that has given up.
tutti::task<int> first_unable(tutti::communicator& world, bool able) {
    std::int32_t lowest = able ? world.size() : world.rank();
    co_await world.all_reduce(std::span(&lowest, 1), tutti::min);
    co_return lowest;
}

// The exit code.
tutti::task<int> run(tutti::communicator& world, const options& chosen, std::shared_ptr<void>& device) {
    std::optional<resources> files;
    std::string wrong;
    int code = bad_input;
    try {
        files.emplace(chosen, world.rank(), device);
    } catch (const input_error& error) {
        wrong = error.what();
    } catch (const device_error& error) {
        wrong = error.what();
        code = no_device;
    }
    const int unable = co_await first_unable(world, files.has_value());
    if (unable < world.size()) {
        if (files) wrong = fmt::format("rank {} could not begin", unable);
        complain(world.size() == 1 ? wrong : fmt::format("rank {}: {}", world.rank(), wrong));
        co_return code;
    }
    std::FILE* const progress = chosen.json == "-" ? stderr : stdout;  // a program that reads JSON wants nothing else
    auto training = chosen.device ? train_on_device(world, chosen, files->data, progress) : train(world, chosen, files->data, progress);
    const run_report report = co_await std::move(training);
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
    std::shared_ptr<void> device;  // let go of when nothing uses it any more
    return tutti::run([&](tutti::communicator& world) { return digits::run(world, chosen, device); });
}
