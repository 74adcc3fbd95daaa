#include "latency.hpp"

#include "samples.hpp"

#include "gpu/device_state.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/sleep.hpp>

#include <optional>
#include <vector>

namespace gpu_bench {
namespace {

using namespace tutti;

constexpr int warm_up = 3;

double seconds(duration length) { return std::chrono::duration<double>(length).count(); }

/// What has been used so far.
struct usage {
    time_point when;
    double loop, witness, process;

    usage(const event_loop& loop_of_this_thread, const gpu_bench::witness& seen)
        : when(loop_of_this_thread.now()),
          loop(cpu_seconds_of_this_thread()),
          witness(seen.cpu_seconds()),
          process(perf::cpu_now()) {}
};

}  // namespace

std::string_view name(gpu::poll_mode mode) noexcept {
    constexpr std::string_view names[] = {"adaptive", "spin", "timer", "host_function", "thread"};
    return names[static_cast<int>(mode)];
}

task<latency_row> measure_latency(const workload& device, witness& seen, duration length, int samples) {
    event_loop& loop = co_await this_loop;
    const gpu::stream stream = gpu::stream::make(device.where()).value();
    latency_row row;
    row.mode = device.where().inner()->options().polling;
    row.length = length;
    row.samples = samples;
    std::vector<double> late;
    std::optional<usage> before;
    for (int i = -warm_up; i < samples; ++i) {
        if (i == 0) before.emplace(loop, seen);
        const unsigned value = *seen.flag() + 1;
        device.delay(stream, length, seen.flag(), value);
        const gpu::event done = stream.record().value();
        co_await done;
        const time_point resumed = loop.now();
        const time_point flagged = seen.seen(value);
        if (i < 0) continue;
        if (resumed < flagged) ++row.unwitnessed;
        else late.push_back(seconds(resumed - flagged));
    }
    const usage after(loop, seen);
    const double wall = seconds(after.when - before->when), witness = after.witness - before->witness;
    row.seconds = percentiles_of(std::move(late));
    row.loop_share = (after.loop - before->loop) / wall;
    row.others_share = (after.process - before->process - (after.loop - before->loop) - witness) / wall;
    co_return row;
}

}  // namespace gpu_bench
