// The reducer on devices: whose averages are right, when buckets travel, what the host waits for, and what it costs.
#include "device/gradients.hpp"
#include "device/silence.hpp"
#include "support/allocations.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>

namespace reducer_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_gradients;
using test::device_rank;
using test::device_stage;
using test::gradients;
using test::memory;
using test::small_buckets;

namespace {

enum class way { ordered, completed };

task<> end_step(gpu::reducer& all, way how, const gpu::stream& compute) {
    auto ending = how == way::ordered ? all.finish_on(compute) : all.finish();
    co_await std::move(ending);
}

/// Four steps; every other one ends in the other way.
task<> train(device_rank& here, memory where, reduce_op op, unsigned seed) {
    const gpu::stream compute = here.stream();
    const device_gradients mine(here, where);
    reducer_options options = small_buckets();
    options.op = op;
    options.live = seed % 3 + 1;
    gpu::reducer all(here.all, mine.parameters(), options);
    CHECK(all.buckets().size() > 4);
    std::vector<std::size_t> wrong(4, 1);
    for (int step = 0; step < 4; ++step) {
        mine.backward(all, compute, step, seed + static_cast<unsigned>(here.me) + 1);
        auto ending = end_step(all, step % 2 == 0 ? way::ordered : way::completed, compute);
        co_await std::move(ending);
        here.kernel(
            compute, 10us,
            [&, step] {
                wrong[static_cast<std::size_t>(step)] = mine.wrong_averages(all, here.all.size(), step, op == sum ? here.all.size() : 1);
            },
            "optimizer");
    }
    future<> done = compute.completed();
    co_await std::move(done);
    CHECK(wrong == std::vector<std::size_t>(4, 0));
}

}  // namespace

TEST_CASE("gradients on devices are averaged, wherever they live and in whatever order they come") {
    for (const int size : {1, 2, 3, 4})
        for (const memory where : {memory::gathered, memory::placed, memory::mixed})
            for (const unsigned seed : {1u, 2u, 3u}) {
                CAPTURE(size);
                CAPTURE(static_cast<int>(where));
                CAPTURE(seed);
                gpu::sim::options how;
                how.seed = seed;
                how.jitter = 40us;
                how.polls = static_cast<int>(seed) * 3 - 3;
                device_stage stage(size, how);
                // NCCL scales before it adds: by a third, that is not exact.
                stage.run([&](device_rank& here) { return train(here, where, size == 3 ? reduce_op::sum : reduce_op::avg, seed); });
                CHECK(test::waits_at_the_end_only(stage.machine.trace()));
            }
}

TEST_CASE("gradients on devices are averaged through the hosts, too") {
    for (const int size : {1, 2, 4})
        for (const unsigned seed : {1u, 2u, 3u}) {
            CAPTURE(size);
            CAPTURE(seed);
            gpu::sim::options how;
            how.seed = seed;
            how.jitter = 40us;
            device_stage stage(size, how);
            stage.group.engine = gpu::engine_kind::staged;
            stage.group.chunk_bytes = 4 * KiB;
            stage.run([&](device_rank& here) { return train(here, memory::mixed, avg, seed); });
            CHECK(stage.machine.calls("ncclAllReduce") == 0);
        }
}

namespace {

/// Four steps, in the last of which no rank has a gradient for parameter 5.
task<> train_with_hosts(device_rank& here, memory where) {
    const std::optional<gpu::stream> compute = here.on_host() ? std::nullopt : std::optional(here.stream());
    const device_gradients mine(here, where);
    gpu::reducer all(here.all, mine.parameters(), small_buckets());
    for (int step = 0; step < 4; ++step) {
        const std::size_t unused = step == 3 ? 5 : mine.size();
        for (std::size_t which = mine.size(); which-- > 0;) {
            if (which == unused) compute ? all.mark_unused(which, *compute) : all.mark_unused(which);
            else compute ? mine.make(all, *compute, which, step) : mine.make(all, which, step);
        }
        auto ending = compute && step % 2 == 0 ? all.finish_on(*compute) : all.finish();
        co_await std::move(ending);
        if (compute) {
            future<> done = compute->completed();
            co_await std::move(done);
        }
        if (step < 3) CHECK(mine.wrong_averages(all, here.all.size(), step) == 0);
    }
    const buffer zeros = mine.seen(all.gradient(5));
    for (std::size_t element = 0; element < zeros.count; ++element) CHECK(test::at(zeros, element) == 0);
    CHECK(all.stats().total.steps >= 3);
}

}  // namespace

TEST_CASE("gradients on devices and on ranks without one are averaged together") {
    for (const int size : {2, 4})
        for (const memory where : {memory::gathered, memory::placed, memory::mixed}) {
            CAPTURE(size);
            CAPTURE(static_cast<int>(where));
            device_stage stage(size);
            test::mix(stage);
            stage.run([&](device_rank& here) { return train_with_hosts(here, where); });
        }
}

namespace {

// 24 layers of 1 ms; the gradients of two layers are a bucket.
constexpr int layers = 24;
constexpr auto layer_time = 1ms;
constexpr std::size_t count = 100'000;

struct line {
    const char* name;
    duration bucket;  // that communication takes
};
const line lines[] = {
    {"communication that is quicker than computation", 900us},
    {"communication that takes as long as computation", 2ms},
    {"communication that is slower than computation", 3ms},
};

/// Computed: a bucket begins when its gradients are there and the one before it has ended.
duration exposed_time(duration bucket) {
    duration end{};
    for (int number = 1; number <= layers / 2; ++number) end = std::max<duration>(end, 2 * number * layer_time) + bucket;
    return end - layers * layer_time;
}

task<> overlap_steps(device_rank& here, memory where, const line& what) {
    event_loop& loop = co_await this_loop;
    const gpu::stream compute = here.stream();
    std::vector<gpu::parameter> parameters;
    for (int layer = 0; layer < layers; ++layer) {
        if (where == memory::placed) parameters.emplace_back("layer", count, data_type::f32);
        else parameters.emplace_back("layer", here.filled<float>(count, 1.0f));
    }
    reducer_options options;
    options.first_bucket = options.bucket = 2 * count * sizeof(float);
    gpu::reducer all(here.all, parameters, options);
    REQUIRE(all.buckets().size() == layers / 2);
    auto agreeing = all.agree();
    co_await std::move(agreeing);

    const time_point begin = loop.now();
    for (std::size_t layer = layers; layer-- > 0;) {
        here.kernel(compute, layer_time, {}, "layer");
        all.ready(layer, compute);
    }
    auto ending = all.finish_on(compute);
    co_await std::move(ending);
    CHECK(loop.now() - begin < layer_time);  // the host is ahead of the device
    here.kernel(compute, 1ms, {}, "optimizer");
    future<> done = compute.completed();
    co_await std::move(done);
    const duration exposed = exposed_time(what.bucket);
    CHECK(loop.now() - begin >= layers * layer_time + exposed + 1ms);
    CHECK(loop.now() - begin < layers * layer_time + exposed + 2ms);

    // The reducer tells what the host has heard of it, a little later.
    co_await sleep_for(5ms);
    const reducer_stats told = all.stats();
    CHECK(told.total.steps == 1);
    CHECK(told.total.bytes == layers * count * sizeof(float));
    CHECK(told.last.exposed > exposed - 300us);
    CHECK(told.last.exposed < exposed + 300us);
    const duration busy = layers / 2 * what.bucket;
    CHECK(told.last.busy > busy - 1ms);
    CHECK(told.last.busy < busy + 2ms);
}

}  // namespace

TEST_CASE("24 layers' buckets travel while the backward pass goes on, and only what was computed beforehand is exposed") {
    for (const line& each : lines)
        for (const memory where : {memory::placed, memory::gathered}) {
            CAPTURE(each.name);
            CAPTURE(static_cast<int>(where));
            gpu::sim::options how;
            // A list is as many calls as it has buffers.
            how.collective = {where == memory::placed ? each.bucket : each.bucket / 2, 0};
            device_stage stage(2, how);
            stage.card_options.longest = 50us;
            stage.run([&](device_rank& here) { return overlap_steps(here, where, each); });
            const gpu::sim::trace all = stage.machine.trace();
            CHECK(test::waits_at_the_end_only(all));
            for (int device = 0; device < 2; ++device) {
                auto kernels = all.named("layer"), reductions = all.of(gpu::sim::work_kind::collective);
                const auto elsewhere = [device](const auto& one) { return one.device != device; };
                std::erase_if(kernels, elsewhere);
                std::erase_if(reductions, elsewhere);
                REQUIRE(kernels.size() == layers);
                REQUIRE(reductions.size() == (where == memory::placed ? layers / 2 : layers));
                std::size_t beside = 0;
                for (const auto& one : reductions)
                    beside += std::any_of(kernels.begin(), kernels.end(), [&](const auto& kernel) { return intersect(kernel, one); });
                CHECK(beside > 0);
                const duration after = reductions.back().ended - kernels.back().ended;
                CHECK(after >= exposed_time(each.bucket));
                CHECK(after < exposed_time(each.bucket) + 200us);
                // All but those that began behind the last layer.
                const auto late = std::count_if(reductions.begin(), reductions.end(),
                                                [&](const auto& one) { return one.started >= kernels.back().ended; });
                CHECK(beside + static_cast<std::size_t>(late) == reductions.size());
            }
        }
}

namespace {

/// Two streams make the gradients of one bucket, and the slower one is marked first.
task<> compute_on_two(device_rank& here) {
    const gpu::stream slow = here.stream(), quick = here.stream();
    const device_gradients mine(here, memory::placed, {10, 10, 10});
    gpu::reducer all(here.all, mine.parameters());
    REQUIRE(all.buckets().size() > 1);
    for (int step = 0; step < 3; ++step) {
        here.kernel(slow, 3ms);
        mine.make(all, slow, 1, step);
        mine.make(all, quick, 0, step);
        mine.make(all, quick, 2, step);
        auto ending = all.finish();
        co_await std::move(ending);
        CHECK(mine.wrong_averages(all, here.all.size(), step) == 0);
    }
}

}  // namespace

TEST_CASE("a bucket comes after all streams that made its gradients") {
    device_stage stage(2);
    stage.run(compute_on_two);
}

namespace {

/// Three passes a step. Rank 1 has no gradient for parameter 0 in any pass, nor rank 0 for parameter 1 in the last.
task<> accumulate_passes(device_rank& here, memory where) {
    const gpu::stream compute = here.stream();
    const device_gradients mine(here, where, {50, 60, 70});
    gpu::reducer all(here.all, mine.parameters(), small_buckets());
    all.accumulate(3);
    for (int step = 0; step < 2; ++step) {
        for (int pass = 0; pass < 3; ++pass) {
            for (std::size_t which = 3; which-- > 0;) {
                if ((which == 0 && here.me == 1) || (which == 1 && here.me == 0 && pass == 2)) all.mark_unused(which, compute);
                else mine.make(all, compute, which, step, pass);
            }
            auto ending = all.finish_on(compute);
            co_await std::move(ending);
        }
        future<> done = compute.completed();
        co_await std::move(done);
        const auto value = [&](rank who, std::size_t which) { return gradients::value(who, which, 7, step); };
        CHECK(test::at(mine.seen(all.gradient(0)), 7) == (value(0, 0) + 2) / 2.0);
        CHECK(test::at(mine.seen(all.gradient(1)), 7) == (value(0, 1) + 1 + value(1, 1) + 2) / 2.0);
        CHECK(test::at(mine.seen(all.gradient(2)), 7) == (value(0, 2) + value(1, 2) + 4) / 2.0);
    }
    CHECK(here.machine.calls("ncclAllReduce") > 0);
}

}  // namespace

TEST_CASE("only the last pass of a step communicates, and what no pass has made counts as zero") {
    for (const memory where : {memory::gathered, memory::placed}) {
        CAPTURE(static_cast<int>(where));
        device_stage stage(2);
        stage.run([&](device_rank& here) { return accumulate_passes(here, where); });
    }
}

namespace {

/// Twenty steps in which the host does not wait for the device, which takes 4 ms for each.
task<> run_ahead(device_rank& here) {
    event_loop& loop = co_await this_loop;
    const gpu::stream compute = here.stream();
    const device_gradients mine(here, memory::placed, {10, 10});
    gpu::reducer all(here.all, mine.parameters());
    const time_point begin = loop.now();
    for (int step = 0; step < 20; ++step) {
        here.kernel(compute, 4ms);
        mine.backward(all, compute, step);
        auto ending = all.finish_on(compute);
        co_await std::move(ending);
        // The step before is over, this one has hardly begun.
        CHECK(loop.now() - begin >= 4ms * step);
        CHECK(loop.now() - begin < 4ms * step + 3ms);
        CHECK(all.stats().total.steps == static_cast<std::uint64_t>(step));
    }
    auto last = compute.completed();
    co_await std::move(last);
    CHECK(mine.wrong_averages(all, here.all.size(), 19) == 0);
}

}  // namespace

TEST_CASE("the host is ahead of the device by one step, and not by more") {
    device_stage stage(2);
    stage.run(run_ahead);
    CHECK(test::waits_at_the_end_only(stage.machine.trace()));
}

namespace {

task<> step_once(device_gradients& mine, gpu::reducer& all, const gpu::stream& compute, way how) {
    for (std::size_t which = mine.size(); which-- > 1;) all.ready(which, compute);
    all.mark_unused(0, compute);
    auto ending = end_step(all, how, compute);
    co_await std::move(ending);
}

task<> count_allocations(device_rank& here, device_stage& stage, std::size_t& counted) {
    const gpu::stream compute = here.stream();
    device_gradients mine(here, memory::mixed);
    gpu::reducer all(here.all, mine.parameters(), small_buckets());
    auto agreeing = all.agree();
    co_await std::move(agreeing);
    auto counting = test::count_allocations(
        stage, [&](int step) { return step_once(mine, all, compute, step % 2 == 0 ? way::ordered : way::completed); });
    counted = co_await std::move(counting);
}

}  // namespace

TEST_CASE("after some first ones a step on devices allocates nothing" * doctest::skip(!test::counts_allocations)) {
    device_stage stage(1);
    std::size_t counted = 1;
    stage.run([&](device_rank& here) { return count_allocations(here, stage, counted); });
    CHECK(counted == 0);
}

}  // namespace reducer_test
