#include "latency.hpp"

#include "samples.hpp"

#include "gpu/device_state.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/sleep.hpp>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace gpu_bench {
namespace {

using namespace tutti;

constexpr int warm_up = 3;
constexpr duration launching = std::chrono::microseconds(200);  // and then some

double seconds(duration length) { return std::chrono::duration<double>(length).count(); }

/// The processor time that has been used so far.
struct usage {
    time_point when;
    double loop, witness, process;

    usage(const event_loop& loop_of_this_thread, const gpu_bench::witness& seen)
        : when(loop_of_this_thread.now()),
          loop(cpu_seconds_of_this_thread()),
          witness(seen.cpu_seconds()),
          process(perf::cpu_now()) {}
};

/// Works for so long, and is waited for by the flag alone. Where that fails, what may still be written stays until the device is through.
task<> wait_by_flag(const gpu::stream& by, const written_flag& flag, const witness& seen, unsigned value, duration length) {
    try {
        flag.enqueue(by, value);
        auto written = flag.written(by, value, length);
        co_await std::move(written);
    } catch (const failure&) {
        for (const gpu::keep_alive& word : {seen.keep(), flag.keep()}) static_cast<void>(by.completed(word));
        throw;
    }
}

}  // namespace

std::string_view name(way how) noexcept {
    constexpr std::string_view names[] = {"adaptive", "spin", "timer", "host_function", "thread"};
    return how ? names[static_cast<int>(*how)] : "flag";
}

task<latency_row> measure_latency(const workload& device, witness& seen, duration length, int samples, const written_flag* flag) {
    event_loop& loop = co_await this_loop;
    const gpu::stream stream = gpu::stream::make(device.where()).value();
    latency_row row;
    row.how = flag ? by_flag : way(device.where().inner()->options().polling);
    row.length = length;
    row.samples = samples;
    std::vector<double> late;
    std::optional<usage> before;
    for (int i = -warm_up; i < samples; ++i) {
        if (i == 0) before.emplace(loop, seen);
        const unsigned value = *seen.flag() + 1;
        device.delay(stream, length, seen.flag(), value);
        if (flag) {
            auto written = wait_by_flag(stream, *flag, seen, value, length);
            co_await std::move(written);
        } else {
            const gpu::event done = stream.record().value();
            co_await done;
        }
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

task<launch_count> measure_launches(const workload& device, witness& seen, duration length, int times, const written_flag* flag) {
    launcher meanwhile(device);
    co_await measure_latency(device, seen, length, times, flag);
    co_return meanwhile.stop();
}

task<launch_count> measure_launches_alone(const workload& device, witness& seen, duration length, int times) {
    const gpu::stream stream = gpu::stream::make(device.where()).value();
    launcher meanwhile(device);
    for (int i = 0; i < times; ++i) {
        const unsigned value = *seen.flag() + 1;
        device.delay(stream, length, seen.flag(), value);
        co_await sleep_for(length + launching);
        const gpu::event done = stream.record().value();
        co_await done;  // it is, as a rule
        seen.seen(value);
    }
    co_return meanwhile.stop();
}

}  // namespace gpu_bench
