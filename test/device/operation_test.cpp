// One operation from its call to its end: three ways to wait for it, what it holds meanwhile, and its place in the order.
#include "device/ranks.hpp"
#include "device/silence.hpp"
#include "support/allocations.hpp"
#include "support/seeds.hpp"

#include <tutti/sleep.hpp>

#include <algorithm>
#include <string>

namespace operation_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;
using test::device_stage;

namespace {

/// A kernel that takes 10 ms makes ones of the data; then they are summed.
task<> wait_in_three_ways(device_rank& here) {
    event_loop& loop = co_await this_loop;
    const gpu::stream compute = here.stream(), other = here.stream();
    const auto data = here.filled<float>(1000, 0.0f);
    float seen = 0;
    here.kernel(compute, 10ms, [&here, &data] {
        for (std::size_t index = 0; index < data.size(); ++index) reinterpret_cast<float*>(here.shadow(data.data()))[index] = 1.0f;
    });
    const time_point begin = loop.now();
    gpu::operation summed = here.all.all_reduce(data, sum, {.after = &compute});
    future<> enqueued = summed.enqueued();
    co_await std::move(enqueued);
    CHECK(loop.now() - begin < 10ms);
    future<> ordered = summed.wait_on(other);
    co_await std::move(ordered);
    CHECK(loop.now() - begin < 10ms);
    CHECK_FALSE(summed.ready());
    here.kernel(
        other, 1us, [&here, &data, &seen] { seen = here.at(data, 999); }, "reader");
    co_await std::move(summed);
    CHECK(loop.now() - begin >= 10ms);
    CHECK(here.at(data, 0) == static_cast<float>(here.all.size()));
    future<> read = other.completed();
    co_await std::move(read);
    CHECK(seen == static_cast<float>(here.all.size()));
}

}  // namespace

TEST_CASE("enqueued and ordered come at once, completed when the device has done it, and no thread waits for the device") {
    for (const int polls : {0, 1, 7}) {
        gpu::sim::options how;
        how.polls = polls;
        device_stage stage(3, how);
        stage.run(wait_in_three_ways);
        CHECK(test::waits_at_the_end_only(stage.machine.trace()));
    }
}

namespace {

/// Does what `after` and wait_on do inside.
task<> order_by_hand(device_rank& here) {
    const gpu::stream compute = here.stream();
    const auto data = here.filled<float>(1000, 0.0f);
    float seen = 0;
    here.kernel(compute, 10ms, [&here, &data] {
        for (std::size_t index = 0; index < data.size(); ++index) reinterpret_cast<float*>(here.shadow(data.data()))[index] = 1.0f;
    });
    auto made = compute.record();
    REQUIRE(made);
    CHECK(here.all.over()->wait(*made));
    gpu::operation summed = here.all.all_reduce(data, sum);
    future<> enqueued = summed.enqueued();
    co_await std::move(enqueued);
    auto end = here.all.over()->record();
    REQUIRE(end);
    CHECK(compute.wait(*end));
    here.kernel(
        compute, 1us, [&here, &data, &seen] { seen = here.at(data, 999); }, "reader");
    CHECK(seen == 0);
    future<> read = compute.completed();
    co_await std::move(read);
    CHECK(seen == static_cast<float>(here.all.size()));
    co_await std::move(summed);
}

}  // namespace

TEST_CASE("the steps between a caller's stream and the communication stream can be taken by hand, too") {
    for (const int polls : {0, 3}) {
        gpu::sim::options how;
        how.polls = polls;
        device_stage stage(3, how);
        stage.run(order_by_hand);
        CHECK(test::waits_at_the_end_only(stage.machine.trace()));
    }
}

namespace {

task<> ask_later(device_rank& here) {
    const gpu::stream other = here.stream();
    const auto data = here.filled<float>(10, 1.0f);
    gpu::operation summed = here.all.all_reduce(data, sum);
    co_await sleep_for(50ms);
    CHECK(summed.ready());
    future<> enqueued = summed.enqueued();
    CHECK(enqueued.ready());
    co_await std::move(enqueued);
    future<> ordered = summed.wait_on(other);
    CHECK(ordered.ready());
    co_await std::move(ordered);
    co_await std::move(summed);
}

}  // namespace

TEST_CASE("every way of waiting may be asked for when all is over") {
    device_stage stage(2);
    stage.run(ask_later);
}

namespace {

task<> drop_and_keep(device_rank& here) {
    const gpu::stream compute = here.stream();
    auto owner = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = owner;
    {
        const auto data = here.filled<float>(1000, 1.0f);
        here.kernel(compute, 20ms);
        const gpu::keep_alive kept = std::move(owner);
        gpu::operation dropped = here.all.all_reduce(data, sum, {.after = &compute, .keep = &kept});
        gpu::operation cancelled = here.all.all_reduce(data, max);
        future<> given_up = std::move(cancelled).completed();
        given_up.cancel();
        const auto how = co_await as_result(std::move(given_up));
        REQUIRE_FALSE(how);
        CHECK(how.failure().code() == error::cancelled);
    }
    co_await sleep_for(10ms);
    CHECK_FALSE(watched.expired());
    CHECK(here.machine.calls("cuMemFree") == 0);
    co_await sleep_for(20ms);
    CHECK(watched.expired());
    auto last = here.all.barrier();
    co_await std::move(last);
}

}  // namespace

TEST_CASE("an operation that nobody waits for goes on, and holds what it was given until it is completed") {
    device_stage stage(2);
    stage.run(drop_and_keep);
    CHECK(stage.machine.calls("cuMemFree") > 0);
}

namespace {

task<> many_without_waiting(device_rank& here) {
    auto splitting = here.all.split(0, here.me);
    const auto other = co_await std::move(splitting);
    const auto data = here.filled<float>(64, 1.0f);
    std::vector<gpu::operation> all;
    for (int round = 0; round < 20; ++round) {
        all.push_back(here.all.all_reduce(data, max));
        all.push_back(other->broadcast(data, 0));
        all.push_back(other->barrier());
        all.push_back(here.all.all_reduce(gpu::device_span(data).part(0, 0), max));
        all.push_back(here.all.reduce(data, max, 1));
    }
    for (gpu::operation& each : all) co_await std::move(each);
    auto closing = other->close();
    co_await std::move(closing);
}

}  // namespace

TEST_CASE("operations of all communicators of a device are done in the order of their calls") {
    for (std::uint64_t seed = 1; seed <= test::seeds(3); ++seed) {
        CAPTURE(seed);
        gpu::sim::options how;
        how.polls = 2;
        how.seed = seed;
        how.jitter = 30us;
        device_stage stage(3, how);
        stage.run(many_without_waiting);
        for (int device = 0; device < 3; ++device) {
            auto done = stage.machine.trace().of(gpu::sim::work_kind::collective);
            std::erase_if(done, [device](const auto& each) { return each.device != device; });
            REQUIRE(done.size() == 80);
            // In each stream the trace is in order. Calls went to the two streams in turns: one, other, other, one.
            std::vector<gpu::sim::interval> one, other;
            for (const auto& each : done) (each.stream == done.front().stream ? one : other).push_back(each);
            if (one.front().name == "ncclBroadcast") std::swap(one, other);
            REQUIRE(one.size() == other.size());
            time_point last{};
            for (std::size_t round = 0; round < 20; ++round) {
                const gpu::sim::interval calls[] = {one[2 * round], other[2 * round], other[2 * round + 1], one[2 * round + 1]};
                const char* const expected[] = {"ncclAllReduce", "ncclBroadcast", "ncclAllReduce", "ncclReduce"};
                for (std::size_t index = 0; index < 4; ++index) {
                    CHECK(calls[index].name == std::string(expected[index]));
                    CHECK(calls[index].enqueued >= last);
                    last = calls[index].enqueued;
                }
            }
        }
    }
}

namespace {

task<> meet(device_rank& here) {
    event_loop& loop = co_await this_loop;
    const gpu::stream compute = here.stream();
    const time_point begin = loop.now();
    here.kernel(compute, here.me == 1 ? 30ms : 1ms);
    auto met = here.all.barrier({.after = &compute});
    co_await std::move(met);
    CHECK(loop.now() - begin >= 30ms);

    // Nothing to move, but behind the kernel all the same.
    here.kernel(compute, 5ms);
    const time_point then = loop.now();
    auto nothing = here.all.all_reduce(here.filled<float>(0, 0.0f), sum, {.after = &compute});
    co_await std::move(nothing);
    CHECK(loop.now() - then >= 5ms);
}

}  // namespace

TEST_CASE("a barrier waits for the streams of all ranks, and a call without elements for its own") {
    device_stage stage(3);
    stage.run(meet);
}

namespace {

task<> on_the_callers_stream(device_rank& here) {
    const auto data = here.filled<float>(10, 1.0f);
    auto summed = here.all.all_reduce(data, sum);
    co_await std::move(summed);
    CHECK(here.at(data, 9) == 2.0f);
    CHECK(here.all.engine().substr(0, 5) == "NCCL ");
    CHECK(here.all.native() != nullptr);
}

}  // namespace

TEST_CASE("the communication stream may be the caller's, who keeps it") {
    device_stage stage(2);
    std::vector<gpu::stream> streams;
    stage.over = [&streams](const gpu::device& card) {
        streams.push_back(gpu::stream::make(card).value());
        return streams.back();
    };
    stage.run(on_the_callers_stream);
    for (const gpu::sim::interval& each : stage.machine.trace().of(gpu::sim::work_kind::collective)) {
        const auto mine = [&](const gpu::stream& one) { return stage.machine.number_of(one.handle()) == each.stream; };
        CHECK(std::any_of(streams.begin(), streams.end(), mine));
    }
    streams.clear();
}

namespace {

// 24 layers of 1 ms each, the gradients of two layers in a bucket.
constexpr int layers = 24;
constexpr auto layer_time = 1ms;

task<> backward_pass(device_rank& here, duration& took) {
    event_loop& loop = co_await this_loop;
    const gpu::stream compute = here.stream();
    constexpr std::size_t count = 100'000;
    std::vector<gpu::device_buffer<float>> gradients;
    for (int layer = 0; layer < layers; ++layer) gradients.push_back(here.filled<float>(count, 0.0f));
    const time_point begin = loop.now();
    std::vector<gpu::operation> buckets;
    for (int layer = layers - 1; layer >= 0; --layer) {
        const auto& mine = gradients[static_cast<std::size_t>(layer)];
        here.kernel(
            compute, layer_time,
            [&here, &mine, layer] {
                for (std::size_t index = 0; index < count; ++index)
                    reinterpret_cast<float*>(here.shadow(mine.data()))[index] = static_cast<float>(layer + here.me);
            },
            "layer");
        if (layer % 2 == 0)
            buckets.push_back(here.all.all_reduce({mine, gradients[static_cast<std::size_t>(layer) + 1]}, avg, {.after = &compute}));
    }
    for (gpu::operation& each : buckets) {
        future<> ordered = each.wait_on(compute);
        co_await std::move(ordered);
    }
    here.kernel(compute, 1ms, {}, "optimizer");
    CHECK(loop.now() - begin < layers * layer_time);  // the host is ahead of the device
    future<> done = compute.completed();
    co_await std::move(done);
    took = loop.now() - begin;
    for (int layer = 0; layer < layers; ++layer)
        CHECK(here.at(gradients[static_cast<std::size_t>(layer)], count - 1) == static_cast<float>(layer) + 0.5f);
    for (gpu::operation& each : buckets) co_await std::move(each);
}

}  // namespace

TEST_CASE("buckets are reduced while the backward pass goes on, and the host waits for nothing") {
    gpu::sim::options how;
    how.collective = {20us, 0.001};  // 1.2 ms a bucket, of 2 ms of computing
    device_stage stage(2, how);
    duration took[2] = {};
    stage.run([&](device_rank& here) { return backward_pass(here, took[here.me]); });
    const gpu::sim::trace all = stage.machine.trace();
    const auto kernels = all.named("layer"), reductions = all.of(gpu::sim::work_kind::collective);
    REQUIRE(reductions.size() == 2u * layers);
    for (const auto& one : reductions) {
        if (one.started >= kernels.back().started) continue;  // of the last bucket
        const bool beside = std::any_of(kernels.begin(), kernels.end(),
                                        [&](const auto& each) { return each.device == one.device && intersect(each, one); });
        CHECK(beside);
    }
    CHECK(test::waits_at_the_end_only(all));
    for (const duration each : took) {
        CHECK(each >= (layers + 1) * layer_time);
        CHECK(each < (layers + 1) * layer_time + 3ms);  // the last bucket is exposed, little else
    }
}

namespace {

task<> call_once(device_rank& here, const gpu::device_buffer<float>& data, const gpu::stream& compute) {
    const gpu::device_span list[] = {gpu::device_span(data).part(0, 10), gpu::device_span(data).part(20, 10)};
    gpu::operation first = here.all.all_reduce(data, sum, {.after = &compute});
    gpu::operation second = here.all.all_reduce(list, sum);
    future<> enqueued = first.enqueued();
    future<> ordered = first.wait_on(compute);
    co_await std::move(enqueued);
    co_await std::move(ordered);
    co_await std::move(first);
    co_await std::move(second);
}

task<> count_allocations(device_rank& here, device_stage& stage, std::size_t& counted) {
    const gpu::stream compute = here.stream();
    const auto data = here.filled<float>(100, 1.0f);
    auto counting = test::count_allocations(stage, [&](int) { return call_once(here, data, compute); });
    counted = co_await std::move(counting);
}

}  // namespace

TEST_CASE("after some first ones an operation allocates nothing" * doctest::skip(!test::counts_allocations)) {
    device_stage stage(1);
    std::size_t counted = 1;
    stage.run([&](device_rank& here) { return count_allocations(here, stage, counted); });
    CHECK(counted == 0);
}

namespace {

task<> call_another(device_rank& here, gpu::operation first, const gpu::device_buffer<float>& data) {
    co_await std::move(first);
    gpu::operation second = here.all.all_reduce(data, sum);
    co_await std::move(second);
}

task<> close_between(device_rank& here, int& closed) {
    const auto data = here.filled<float>(100, 1.0f);
    std::vector<task<>> both;
    both.push_back(call_another(here, here.all.all_reduce(data, sum), data));
    both.push_back(here.all.close());
    auto together = when_all(std::move(both));
    co_await std::move(together);
    CHECK(here.at(data, 99) == 4.0f);
    ++closed;
}

}  // namespace

TEST_CASE("what is called while a communicator waits to be closed is done before") {
    for (const auto engine : {gpu::engine_kind::nccl, gpu::engine_kind::staged}) {
        CAPTURE(static_cast<int>(engine));
        device_stage stage(2);
        stage.group.engine = engine;
        int closed = 0;
        stage.run([&](device_rank& here) { return close_between(here, closed); });
        CHECK(closed == 2);
    }
}

}  // namespace operation_test
