// Latencies in virtual time: against the moment at which the simulated kernel has set the flag.
#include "latency.hpp"

#include "gpu/stage.hpp"
#include "kernels.hpp"

#include <map>

using namespace tutti;
using namespace gpu_bench;
using namespace std::chrono_literals;

namespace {

constexpr std::byte some_bytes[16]{};
const gpu::device_image any_image{"any.cu", some_bytes};

/// Knows from the kernel itself.
class told_witness final : public witness {
public:
    explicit told_witness(test::stepped_stage& stage)
        : stage_(stage),
          flag_(gpu::pinned_buffer<unsigned>::allocate(stage.device(), 1).value()) {
        flag_[0] = 0;
        test::offer_busy(stage.machine, [this](unsigned value) { when_[value] = stage_.loop.now(); });
    }
    unsigned* flag() noexcept override { return flag_.data(); }
    time_point seen(unsigned value) override {
        REQUIRE(when_.contains(value));
        return when_.at(value);
    }
    double cpu_seconds() const override { return 0; }

private:
    test::stepped_stage& stage_;
    gpu::pinned_buffer<unsigned> flag_;
    std::map<unsigned, time_point> when_;
};

latency_row measured(gpu::poll_mode mode, duration work, int samples) {
    gpu::device_options how;
    how.polling = mode;
    test::stepped_stage stage(how);
    told_witness seen(stage);
    const workload device(stage.device(), any_image, 16);
    return run(stage.loop, measure_latency(device, seen, work, samples));
}

/// Sees everything a second too late.
class late_witness final : public witness {
public:
    explicit late_witness(told_witness& truth) : truth_(truth) {}
    unsigned* flag() noexcept override { return truth_.flag(); }
    time_point seen(unsigned value) override { return truth_.seen(value) + 1s; }
    double cpu_seconds() const override { return 0; }

private:
    told_witness& truth_;
};

}  // namespace

TEST_CASE("a latency is the time from the flag to the coroutine, which each mode bounds in its own way") {
    struct row {
        gpu::poll_mode mode;
        duration work;
        double least, most;  // seconds
    };
    constexpr row rows[] = {
        {gpu::poll_mode::spin, 20us, 0, 5e-6},           {gpu::poll_mode::spin, 5ms, 0, 5e-6},
        {gpu::poll_mode::adaptive, 20us, 0, 51e-6},      {gpu::poll_mode::adaptive, 50ms, 0, 2e-3},
        {gpu::poll_mode::timer, 20us, 20e-6, 50e-6},     {gpu::poll_mode::timer, 5ms, 1e-6, 1.1e-3},
        {gpu::poll_mode::host_function, 50ms, 0, 50e-6}, {gpu::poll_mode::thread, 20us, 0, 51e-6},
    };
    for (const row& each : rows) {
        CAPTURE(name(each.mode));
        CAPTURE(each.work.count());
        const latency_row found = measured(each.mode, each.work, 10);
        CHECK(found.mode == each.mode);
        CHECK(found.samples == 10);
        CHECK(found.unwitnessed == 0);
        CHECK(found.seconds.least >= each.least);
        CHECK(found.seconds.most <= each.most);
        CHECK(found.seconds.p50 <= found.seconds.p99);
    }
}

TEST_CASE("a spinning witness sees every value of a device in real time, and what it costs") {
    test::threaded_stage stage;
    test::offer_busy(stage.machine);
    const workload device(stage.device(), any_image, 16);
    {
        spinning_witness seen(stage.device());
        const auto found = run(stage.loop, measure_latency(device, seen, 20us, 20));
        CHECK(*seen.flag() == 23);  // three to warm up
        CHECK((found.seconds.most > 0 || found.unwitnessed == 20));
        CHECK(found.unwitnessed <= 20);
        CHECK(seen.cpu_seconds() > 0);
    }
}

TEST_CASE("what the witness saw after the coroutine is told and not counted") {
    test::stepped_stage stage;
    told_witness truth(stage);
    late_witness late(truth);
    const workload device(stage.device(), any_image, 16);
    const auto found = run(stage.loop, measure_latency(device, late, 20us, 7));
    CHECK(found.samples == 7);
    CHECK(found.unwitnessed == 7);
    CHECK(found.seconds.most == 0);
}
