#include "device_trainer.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/gpu/copy.hpp>
#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gpu_bench {
namespace {

using namespace tutti;

constexpr int trial_launches = 16;

double seconds_since(time_point begin, const event_loop& loop) { return std::chrono::duration<double>(loop.now() - begin).count(); }

/// Writes when each of them has come; they come in order.
task<> note_ends(std::vector<gpu::event> events, time_point begin, std::vector<interval>& into) {
    event_loop& loop = co_await this_loop;
    for (std::size_t i = 0; i < events.size(); ++i) {
        co_await events[i];
        into[i].ended = seconds_since(begin, loop);
    }
}

task<> note_ends(std::vector<gpu::operation> sums, time_point begin, std::vector<interval>& into) {
    event_loop& loop = co_await this_loop;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        co_await std::move(sums[i]);
        into[i].ended = seconds_since(begin, loop);
    }
}

}  // namespace

device_trainer::device_trainer(communicator& world, gpu::communicator& all, const workload& device, const training_plan& plan, int launches)
    : all_(all),
      device_(device),
      plan_(plan),
      launches_(launches),
      compute_(gpu::stream::make(device.where()).value()),
      buckets_(gpu::device_buffer<float>::allocate(device.where(), plan.all_count()).value()),
      pipeline_(world, device.where(), plan) {
    device.wait(compute_);
    device.fill(compute_, buckets_.data(), buckets_.size(), 0);
}

gpu::device_span device_trainer::bucket(int layer) const noexcept {
    return gpu::device_span(buckets_).part(static_cast<std::size_t>(layer) * plan_.bucket_count, plan_.bucket_count);
}

void device_trainer::compute(int layer, int number) const {
    device_.multiply(compute_, launches_);
    device_.fill(compute_, static_cast<float*>(bucket(layer).data), plan_.bucket_count, contribution(all_.rank(), true, layer, number));
}

std::vector<gpu::operation> device_trainer::go(int number) {
    std::vector<gpu::operation> sums;
    for (int layer = 0; layer < plan_.layers; ++layer) {
        compute(layer, number);
        sums.push_back(all_.all_reduce(bucket(layer), tutti::sum, {.after = &compute_}));
    }
    return sums;
}

task<> device_trainer::compute_all(int number) {
    for (int layer = 0; layer < plan_.layers; ++layer) compute(layer, number);
    co_await compute_.completed();
}

task<> device_trainer::sum_all() {
    std::vector<gpu::operation> sums;
    for (int layer = 0; layer < plan_.layers; ++layer) sums.push_back(all_.all_reduce(bucket(layer), tutti::sum, {.after = &compute_}));
    for (auto& each : sums) co_await std::move(each);
}

task<> device_trainer::one_by_one(int number) {
    for (int layer = 0; layer < plan_.layers; ++layer) {
        compute(layer, number);
        gpu::operation summed = all_.all_reduce(bucket(layer), tutti::sum, {.after = &compute_});
        co_await std::move(summed);
    }
}

task<double> device_trainer::overlapped(int number) {
    event_loop& loop = co_await this_loop;
    const time_point begin = loop.now();
    std::vector<gpu::operation> sums = go(number);
    co_await compute_.completed();
    const double computed = seconds_since(begin, loop);
    for (auto& each : sums) co_await std::move(each);
    co_return computed;
}

task<> device_trainer::ordered(int number) {
    const std::vector<gpu::operation> sums = go(number);
    for (const auto& each : sums) co_await each.wait_on(compute_);
    co_await compute_.completed();
}

task<> device_trainer::by_hand(int number) {
    std::vector<gpu::event> ready;
    for (int layer = 0; layer < plan_.layers; ++layer) {
        compute(layer, number);
        ready.push_back(compute_.record().value());
    }
    future<> done = pipeline_.start(std::move(ready), buckets_);
    co_await std::move(done);
}

task<step_record> device_trainer::step(variant how, int number) {
    event_loop& loop = co_await this_loop;
    step_record seen;
    const time_point begin = loop.now();
    switch (how) {
        case variant::computing: co_await compute_all(number); break;
        case variant::communication: co_await sum_all(); break;
        case variant::serial: co_await one_by_one(number); break;
        case variant::overlapped: seen.computed = co_await overlapped(number); break;
        case variant::ordered: co_await ordered(number); break;
        case variant::hand_written: co_await by_hand(number); break;
    }
    seen.seconds = seconds_since(begin, loop);
    co_return seen;
}

task<step_record> device_trainer::traced_step(int number) {
    event_loop& loop = co_await this_loop;
    step_record seen;
    const time_point begin = loop.now();
    std::vector<gpu::event> layers;
    std::vector<gpu::operation> sums;
    for (int layer = 0; layer < plan_.layers; ++layer) {
        compute(layer, number);
        layers.push_back(compute_.record().value());
        sums.push_back(all_.all_reduce(bucket(layer), tutti::sum, {.after = &compute_}));
        seen.layers.push_back({0, 0, fmt::format("layer {}", layer)});
        seen.buckets.push_back({0, 0, fmt::format("bucket {}", layer)});
    }
    auto both = when_all(note_ends(std::move(layers), begin, seen.layers), note_ends(std::move(sums), begin, seen.buckets));
    co_await std::move(both);
    for (std::size_t i = 0; i < seen.layers.size(); ++i) {
        if (i > 0) seen.layers[i].began = seen.layers[i - 1].ended;
        seen.buckets[i].began = std::min(seen.layers[i].ended, seen.buckets[i].ended);
    }
    seen.computed = seen.layers.back().ended;
    seen.seconds = seconds_since(begin, loop);
    co_return seen;
}

task<std::size_t> device_trainer::wrong(int number, int ranks_on_devices) {
    const auto host = gpu::pinned_buffer<float>::allocate(device_.where(), plan_.bucket_count).value();
    std::size_t found = 0;
    for (int layer = 0; layer < plan_.layers; ++layer) {
        future<> copied =
            gpu::copy(compute_, host, buckets_.part(static_cast<std::size_t>(layer) * plan_.bucket_count, plan_.bucket_count));
        co_await std::move(copied);
        const float right = expected_sum(all_.size(), ranks_on_devices, layer, number);
        found += plan_.bucket_count - static_cast<std::size_t>(std::count(host.data(), host.data() + host.size(), right));
    }
    co_return found;
}

task<> device_trainer::balance(double seconds) {
    event_loop& loop = co_await this_loop;
    device_.multiply(compute_, trial_launches);
    co_await compute_.completed();
    const time_point begin = loop.now();
    device_.multiply(compute_, trial_launches);
    co_await compute_.completed();
    const double each = seconds_since(begin, loop) / trial_launches;
    launches_ = std::max(1, static_cast<int>(std::lround(seconds / plan_.layers / each)));
}

}  // namespace gpu_bench
