// Training steps on simulated devices, in virtual time: right sums, and times that are those of the simulated kernels.
#include "steps.hpp"

#include "device/ranks.hpp"
#include "device_trainer.hpp"
#include "host_trainer.hpp"
#include "kernels.hpp"

#include <cstring>

namespace steps_test {

using namespace tutti;
using namespace gpu_bench;
using namespace std::chrono_literals;

namespace {

constexpr std::array without_threads{variant::computing, variant::communication, variant::serial, variant::overlapped, variant::ordered};
constexpr unsigned rows_of_matrix = 64;

struct asked {
    int layers = 6;
    std::size_t bucket_count = 100000;
    int launches = 0;  // 0: balanced
    int on_devices = 2;
    duration collective = 20us;
    gpu::poll_mode polling = gpu::poll_mode::adaptive;
};

overlap_plan plan_of(const asked& what) {
    overlap_plan plan;
    plan.training = {what.layers, what.bucket_count, 4096, 4};
    plan.steps = 3;
    plan.balanced = what.launches == 0;
    plan.measured = without_threads;
    return plan;
}

task<> measure(test::device_rank& here, const asked& what, overlap_row& into) {
    const overlap_plan plan = plan_of(what);
    if (here.on_host()) {
        host_trainer mine(here.world, here.all, plan.training);
        co_await measure_overlap(here.world, mine, what.on_devices, plan);
        co_return;
    }
    const workload device(here.card, test::any_image, rows_of_matrix);
    device_trainer mine(here.world, here.all, device, plan.training, std::max(1, what.launches));
    overlap_row row = co_await measure_overlap(here.world, mine, what.on_devices, plan);
    if (here.me == 0) into = row;
}

/// Rank 0 and those after it have devices, as many as asked for.
overlap_row measured(int size, const asked& what) {
    gpu::sim::options how;
    how.collective.alpha = what.collective;
    test::device_stage stage(size, how);
    stage.card_options.polling = what.polling;
    stage.device_of = [&](rank me) { return me < what.on_devices ? me : test::no_device; };
    test::offer_busy(stage.machine);
    overlap_row row;
    stage.run([&](test::device_rank& here) { return measure(here, what, row); });
    return row;
}

double seconds(duration length) { return std::chrono::duration<double>(length).count(); }

}  // namespace

TEST_CASE("every way of a step has right sums, and computing takes as long as its kernels do") {
    struct row {
        int ranks, on_devices;
    };
    for (const row& each : {row{2, 2}, row{2, 1}, row{3, 2}, row{3, 1}}) {
        CAPTURE(each.ranks);
        CAPTURE(each.on_devices);
        asked what;
        what.launches = 4;
        what.on_devices = each.on_devices;
        const overlap_row row = measured(each.ranks, what);
        CHECK(row.wrong == 0);
        CHECK(row.launches == 4);
        const double kernels = seconds(what.layers * (4 * test::multiplication(rows_of_matrix) + test::filling(what.bucket_count)));
        CHECK(row.of(variant::computing).least >= kernels);
        CHECK(row.of(variant::computing).most < kernels + 1e-3);
        CHECK(row.of(variant::hand_written).most == 0);
    }
}

TEST_CASE("a balanced step hides most of its communication, and one after the other hides nothing") {
    for (const int on_devices : {1, 2}) {
        CAPTURE(on_devices);
        const overlap_row row = measured(2, {.layers = 12, .on_devices = on_devices});
        CHECK(row.wrong == 0);
        CHECK(row.launches > 1);
        const double computing = row.of(variant::computing).p50, communication = row.of(variant::communication).p50;
        CHECK(computing > 0.5 * communication);
        CHECK(computing < 2 * communication);
        const auto figures = [&row](variant how) { return row.figures[static_cast<std::size_t>(how)]; };
        CHECK(figures(variant::overlapped).efficiency > 0.6);
        CHECK(figures(variant::ordered).efficiency > 0.6);
        CHECK(figures(variant::serial).efficiency < 0.2);
        // A little less than 1 is possible: communication alone ends when the host has heard of it.
        CHECK(row.of(variant::overlapped).p50 > computing);
        CHECK(figures(variant::overlapped).of_bound > 0.75);
        CHECK(figures(variant::overlapped).of_bound < 1.5);
        CHECK(figures(variant::overlapped).slowdown == doctest::Approx(1).epsilon(0.2));
    }
}

TEST_CASE("the traced step has its layers after each other, each bucket behind its layer, and is drawn") {
    const overlap_row row = measured(2, {.layers = 5, .launches = 100, .collective = 500us, .polling = gpu::poll_mode::spin});
    REQUIRE(row.trace.layers.size() == 5);
    REQUIRE(row.trace.buckets.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CAPTURE(i);
        CHECK(row.trace.layers[i].ended > row.trace.layers[i].began);
        CHECK(row.trace.buckets[i].began >= row.trace.layers[i].ended);
        CHECK(row.trace.buckets[i].ended <= row.trace.seconds);
        if (i > 0) CHECK(row.trace.layers[i].began == row.trace.layers[i - 1].ended);
    }
    CHECK(row.hidden > 0.5);
    CHECK(row.hidden <= 1);
    const std::string svg = timeline_of(row, "the simulator: because");
    CHECK(svg.find("layer 4") != std::string::npos);
    CHECK(svg.find("bucket 4") != std::string::npos);
    CHECK(svg.find("the simulator</text>") != std::string::npos);
}

namespace {

task<> spoil(test::device_rank& here, std::size_t& found) {
    const workload device(here.card, test::any_image, rows_of_matrix);
    const training_plan plan{3, 1000, 1000, 2};
    device_trainer mine(here.world, here.all, device, plan, 1);
    co_await mine.step(variant::overlapped, 1);
    CHECK(co_await mine.wrong(1, here.world.size()) == 0);
    found = co_await mine.wrong(2, here.world.size());  // another step's
}

}  // namespace

TEST_CASE("sums of another step are wrong, every element of them") {
    test::device_stage stage(2);
    test::offer_busy(stage.machine);
    std::size_t found = 0;
    stage.run([&](test::device_rank& here) { return spoil(here, found); });
    CHECK(found == 3000);
}

}  // namespace steps_test
