#include "digits/device_training.hpp"

#include "digits/training.hpp"

#include <tutti/gpu.hpp>

#include <fmt/format.h>

#if TUTTI_GPU

#include "digits/device_learner.hpp"

#include <algorithm>

namespace digits {

namespace gpu = tutti::gpu;

namespace {

tutti::result<gpu::device> device_of_this_rank() {
    auto who = tutti::world_from_environment();
    return gpu::device::open(who ? std::max(0, who->local_rank) : 0);
}

std::vector<gpu::parameter> on_device_without_memory(const network& net) {
    std::vector<gpu::parameter> all;
    for (const auto& each : net.parameters()) all.emplace_back(each.name, each.gradient.size(), tutti::data_type::f32);
    return all;
}

// The backward pass then writes into the buckets, as on the host.
void place_gradients(device_learner& student, const network& like, const gpu::reducer& gradients) {
    for (std::size_t i = 0; i < like.parameters().size(); ++i)
        student.net().place_gradient(i, static_cast<float*>(gradients.gradient(i).data));
}

// Returns the share of one epoch, which is the difference of two totals.
double hidden_share(const tutti::overlap& before, const tutti::overlap& now) {
    coverage all;
    all.add({0, 0, now.busy - before.busy, now.exposed - before.exposed});
    return all.share();
}

tutti::task<run_report> train(tutti::communicator& world, gpu::communicator& on_devices, const options& chosen, const split& data,
                              std::FILE* progress) {
    network like(layer_widths, chosen.seed);
    co_await world.broadcast(like.values(), 0);  // all begin with the same bits, whatever computed them
    const gpu::device card = on_devices.on().value();
    const gpu::stream compute = gpu::stream::make(card).value();
    device_learner student(data, plan_of(chosen, world), like, card, compute);
    gpu::reducer gradients(on_devices, on_device_without_memory(like), {.first_bucket = bucket_bytes, .bucket = bucket_bytes});
    place_gradients(student, like, gradients);
    run_report report = describe(chosen, world.size());
    const auto begin = clock::now();
    for (int epoch = 1; epoch <= chosen.epochs; ++epoch) {
        const auto start = clock::now();
        const tutti::overlap before = gradients.stats().total;
        student.begin_epoch(epoch);
        while (student.backward([&](std::size_t parameter) { gradients.ready(parameter, compute); })) {
            co_await gradients.finish_on(compute);  // the host does not wait for the device
            student.step();
        }
        student.evaluate();
        co_await student.fetch();  // here it does, once an epoch
        const double seconds = seconds_since(start);
        co_await world.all_reduce(student.totals(), tutti::sum);
        const double speed = static_cast<double>(student.samples_per_epoch()) / seconds;
        report.epochs.push_back(describe(epoch, student.loss(), student.accuracy(), speed));
        if (world.size() > 1) report.epochs.back().hidden = hidden_share(before, gradients.stats().total);
        if (world.rank() == 0) print(progress, progress_line(report.epochs.back(), chosen.epochs));
    }
    report.seconds = seconds_since(begin);
    const std::vector<float> values = co_await student.values();
    report.identical = co_await identical_on_all(world, values);
    co_return report;
}

}  // namespace

std::shared_ptr<void> open_device() {
    auto mine = device_of_this_rank();
    if (!mine) throw device_error(fmt::format("there is no device to train on: {}", mine.failure().details().cause));
    const auto code = device_network::load(*mine);
    if (!code) throw device_error(fmt::format("there is no code for the device: {}", code.failure().details().cause));
    return std::make_shared<gpu::device>(*mine);
}

tutti::task<run_report> train_on_device(tutti::communicator& world, const options& chosen, const split& data, std::FILE* progress) {
    const auto on_devices = co_await world.device(device_of_this_rank());
    if (world.rank() == 0) print(progress, fmt::format("rank 0 on {}, over {}", on_devices->on()->name(), on_devices->engine()));
    const run_report report = co_await train(world, *on_devices, chosen, data, progress);
    co_await on_devices->close();
    co_return report;
}

}  // namespace digits

#else

namespace digits {

std::shared_ptr<void> open_device() {
    throw device_error("there is no device to train on: this program was built without the headers of CUDA and NCCL");
}

tutti::task<run_report> train_on_device(tutti::communicator&, const options&, const split&, std::FILE*) {
    open_device();
    co_return run_report{};
}

}  // namespace digits

#endif
