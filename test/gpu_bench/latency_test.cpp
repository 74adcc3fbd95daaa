// Latencies in virtual time: against the moment at which the simulated kernel has set the flag.
#include "latency.hpp"

#include "gpu/stage.hpp"
#include "kernels.hpp"

#include <tutti/sleep.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace latency_test {

using namespace tutti;
using namespace gpu_bench;
using namespace std::chrono_literals;

namespace {

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
    gpu::keep_alive keep() const noexcept override { return flag_.keep(); }
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
    const workload device(stage.device(), test::any_image, 16);
    return run(stage.loop, measure_latency(device, seen, work, samples));
}

/// Sees everything a second too late.
class late_witness final : public witness {
public:
    explicit late_witness(told_witness& truth) : truth_(truth) {}
    unsigned* flag() noexcept override { return truth_.flag(); }
    gpu::keep_alive keep() const noexcept override { return truth_.keep(); }
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
        CHECK(found.how == each.mode);
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
    const workload device(stage.device(), test::any_image, 16);
    {
        spinning_witness seen(stage.device());
        const auto found = run(stage.loop, measure_latency(device, seen, 20us, 20));
        CHECK(*seen.flag() == 23);  // three to warm up
        CHECK((found.seconds.most > 0 || found.unwitnessed == 20));
        CHECK(found.samples == 20);
        CHECK(seen.cpu_seconds() > 0);
    }
}

namespace {

std::size_t launched(const gpu::sim::machine& on) {
    const auto all = on.trace().intervals;
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& each) { return each.name == "nothing"; }));
}

}  // namespace

TEST_CASE("launches of another thread are counted while a device is waited for, in each way, and while nobody waits") {
    for (const bool by_word : {false, true}) {
        CAPTURE(by_word);
        test::threaded_stage stage;
        test::offer_busy(stage.machine);
        const workload device(stage.device(), test::any_image, 16);
        spinning_witness seen(stage.device());
        const written_flag flag(stage.device());
        const launch_count meanwhile = run(stage.loop, measure_launches(device, seen, 100us, 5, by_word ? &flag : nullptr));
        CHECK(*seen.flag() == 8);  // three to warm up
        CHECK(meanwhile.launches >= launcher::burst);
        CHECK(meanwhile.launches == launched(stage.machine));
        CHECK(meanwhile.seconds > 0);
        const launch_count alone = run(stage.loop, measure_launches_alone(device, seen, 100us, 5));
        CHECK(*seen.flag() == 13);
        CHECK(alone.launches + meanwhile.launches == launched(stage.machine));
    }
}

TEST_CASE("launches are counted by the second of the calls") {
    CHECK(launch_count{500, 0.25}.per_second() == 2000);
    CHECK(launch_count{}.per_second() == 0);
}

TEST_CASE("a launch that fails is told when the launcher is stopped") {
    test::threaded_stage stage;
    test::offer_busy(stage.machine);
    const workload device(stage.device(), test::any_image, 16);
    stage.machine.fail("cuLaunchKernel", CUDA_ERROR_OUT_OF_MEMORY);
    launcher meanwhile(device);
    CHECK_THROWS_WITH_AS(meanwhile.stop(), doctest::Contains("CUDA_ERROR_OUT_OF_MEMORY"), failure);
    while (!stage.machine.idle()) std::this_thread::yield();  // the matrices may still be being filled
}

TEST_CASE("a flag that the stream writes is waited for without an event") {
    test::threaded_stage stage;
    test::offer_busy(stage.machine);
    const workload device(stage.device(), test::any_image, 16);
    spinning_witness seen(stage.device());
    const written_flag flag(stage.device());
    const std::size_t queries = stage.queries(), records = stage.machine.calls("cuEventRecord");
    const auto found = run(stage.loop, measure_latency(device, seen, 20us, 20, &flag));
    CHECK(found.how == by_flag);
    CHECK(name(found.how) == "flag");
    CHECK(stage.queries() == queries);
    CHECK(stage.machine.calls("cuEventRecord") == records);
    CHECK(stage.machine.calls("cuStreamWriteValue32") == 23);
    CHECK(flag.is(23));
    CHECK((found.seconds.most > 0 || found.unwitnessed == 20));
}

namespace {

/// A device that takes much longer for its work than it was asked to, or fails while it does it.
struct trouble {
    const char* name;
    bool fails;
    duration most;
    error code;
    const char* words;
};
constexpr trouble troubles[] = {
    {"late", false, 5ms, error::timed_out, "the stream has not written 1 within 0.006 s"},
    {"failing", true, 1h, error::device_failed, "CUDA_ERROR_ILLEGAL_ADDRESS"},
};

void offer_trouble(gpu::sim::machine& to, bool fails) {
    to.offer({"delay", {8, 8, 4}, [&to, fails](const gpu::sim::kernel_launch& made) {
                  gpu::sim::kernel_work meant;
                  meant.length = fails ? 1ms : 2s;
                  meant.touches = {{made.parameter<CUdeviceptr>(1), sizeof(unsigned)}};
                  meant.body = [&to, fails, flag = made.parameter<unsigned*>(1), value = made.parameter<unsigned>(2)] {
                      if (fails) to.fault(0);
                      else std::atomic_ref<unsigned>(*flag).store(value, std::memory_order_release);
                  };
                  return meant;
              }});
}

task<> until_idle(const gpu::sim::machine& on) {
    while (!on.idle()) co_await sleep_for(1ms);
}

/// The device's own threads do that, when they have done with what was under way.
void give_back(test::threaded_stage& stage) {
    stage.opened.reset();
    const auto given_back = [](const gpu::sim::machine& on) -> task<> {
        while (on.calls("cuDevicePrimaryCtxRelease") < on.calls("cuDevicePrimaryCtxRetain")) co_await sleep_for(1ms);
    };
    run(stage.loop, given_back(stage.machine));
}

}  // namespace

TEST_CASE("waiting for a flag that does not come ends, and what the device may still write stays until it is through") {
    for (const trouble& each : troubles) {
        CAPTURE(each.name);
        test::threaded_stage stage;
        test::offer_busy(stage.machine);
        offer_trouble(stage.machine, each.fails);
        {
            const workload device(stage.device(), test::any_image, 16);
            run(stage.loop, until_idle(stage.machine));  // the matrices have been filled
            spinning_witness seen(stage.device());
            const written_flag flag(stage.device(), each.most);
            std::optional<failure> told;
            try {
                run(stage.loop, measure_latency(device, seen, 1ms, 1, &flag));
            } catch (const failure& why) {
                told = why;
            }
            REQUIRE(told);
            CHECK(told->code() == each.code);
            CHECK(std::string(told->what()).find(each.words) != std::string::npos);
        }
        give_back(stage);
    }
}

TEST_CASE("a witness does not wait for ever for what the device does not write, nor does a sleeping loop for a device that fails") {
    test::threaded_stage stage;
    test::offer_busy(stage.machine);
    offer_trouble(stage.machine, true);
    {
        const workload device(stage.device(), test::any_image, 16);
        run(stage.loop, until_idle(stage.machine));
        spinning_witness seen(stage.device(), 5ms);
        CHECK_THROWS_WITH_AS(seen.seen(7), "the device's flag is 0 where 7 was expected, after 0.005 s", failure);
        CHECK_THROWS_WITH_AS(run(stage.loop, measure_launches_alone(device, seen, 1ms, 1)), doctest::Contains("CUDA_ERROR_ILLEGAL_ADDRESS"),
                             failure);
    }
    give_back(stage);
}

TEST_CASE("where a driver does not write flags, that is told") {
    gpu::sim::options how;
    how.missing = {"cuStreamWriteValue32"};
    test::stepped_stage stage({}, how);
    CHECK_THROWS_WITH_AS(written_flag(stage.device()), doctest::Contains("has no cuStreamWriteValue32"), failure);
}

TEST_CASE("what the witness saw after the coroutine is told and not counted") {
    test::stepped_stage stage;
    told_witness truth(stage);
    late_witness late(truth);
    const workload device(stage.device(), test::any_image, 16);
    const auto found = run(stage.loop, measure_latency(device, late, 20us, 7));
    CHECK(found.samples == 7);
    CHECK(found.unwitnessed == 7);
    CHECK(found.seconds.most == 0);
}

}  // namespace latency_test
