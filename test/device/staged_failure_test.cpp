// A failure on one rank, of its device, its host or its calls, ends everything that goes through the host on all of them.
#include "device/ranks.hpp"
#include "support/allocations.hpp"
#include "support/failures.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>

#include <fmt/format.h>

#include <functional>
#include <string>

namespace staged_failure_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;
using test::device_stage;
using test::rank_memory;

namespace {

struct disaster {
    const char* name;
    rank dead = -1;  // who is not asked any more
    error code;
    const char* words;
    /// On every rank, when two operations of several chunks are about to be called.
    std::function<void(device_rank&, simulated_network&)> strike;
    /// How much of the second one a rank calls.
    std::function<std::size_t(rank)> counts = [](rank) { return std::size_t{9000}; };
};

/// Every way to wait, for two operations; what each rank was told.
task<> wait_for_the_worst(device_rank& here, const disaster& what, simulated_network& network, test::failures& told) {
    const std::optional<gpu::stream> stream = here.on_host() ? std::nullopt : std::optional(here.stream());
    const rank_memory data = here.place_filled<float>(9000, 1.0f), more = here.place_filled<float>(9000, 1.0f);
    auto well = here.all.all_reduce(data.all<float>(), sum);
    co_await std::move(well);
    auto met = here.world.barrier();
    co_await std::move(met);
    co_await sleep_for(1ms);  // everybody has come out of it
    what.strike(here, network);
    // Everybody's device is busy for a while, that of rank 0 for ever.
    if (stream) here.kernel(*stream, here.me == 0 ? 1h : 100ms);
    gpu::call_options options;
    options.after = stream ? &*stream : nullptr;
    options.deadline = 2s;
    gpu::operation first = here.all.all_reduce(data.all<float>(), sum);
    gpu::operation second = here.all.all_reduce(more.span(data_type::f32, 0, what.counts(here.me)), sum, options);
    std::optional<failure>& mine = told[static_cast<std::size_t>(here.me)];
    future<> ended[] = {here.all.watch(), second.enqueued(), std::move(second).completed(), std::move(first).completed()};
    for (std::size_t index = 0; index < std::size(ended); ++index) {
        const auto how = co_await as_result(std::move(ended[index]));
        if (how) {
            CHECK(index == 3);  // ended before it happened
            continue;
        }
        if (mine && here.me != what.dead) CHECK(how.failure().code() == mine->code());
        mine = how.failure();
    }
    auto late = here.all.barrier();
    const auto how = co_await as_result(std::move(late).completed());
    REQUIRE_FALSE(how);
    if (here.me != what.dead) CHECK(how.failure().code() == mine->code());
}

const disaster disasters[] = {
    {"a copy that never ends", -1, error::timed_out, "all_reduce f32 sum count 9000", [](auto&, auto&) {}},
    {"a fault of a device", -1, error::device_failed, "CUDA_ERROR_ILLEGAL_ADDRESS",
     [](device_rank& here, auto&) {
         if (here.me == 0) here.machine.fault(2);
     }},
    {"a copy from a device that is refused", -1, error::device_failed, "cuMemcpyDtoHAsync",
     [](device_rank& here, auto&) {
         if (here.me == 0) here.machine.fail("cuMemcpyDtoHAsync", CUDA_ERROR_OUT_OF_MEMORY, 3);
     }},
    {"a copy to a device that is refused", -1, error::device_failed, "cuMemcpyHtoDAsync",
     [](device_rank& here, auto&) {
         if (here.me == 0) here.machine.fail("cuMemcpyHtoDAsync", CUDA_ERROR_OUT_OF_MEMORY, 3);
     }},
    {"an event that cannot be recorded", -1, error::device_failed, "cuEventRecord",
     [](device_rank& here, auto&) {
         if (here.me == 0) here.machine.fail("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY, 5);
     }},
    {"the death of a rank without a device", 1, error::peer_died, "rank 1 died",
     [](device_rank& here, simulated_network& network) {
         if (here.me == 0) network.kill(1);
     }},
    {"the death of a rank with a device", 2, error::peer_died, "rank 2 died",
     [](device_rank& here, simulated_network& network) {
         if (here.me == 0) network.kill(2);
     }},
    {"an abort", -1, error::aborted, "rank 1 aborted: enough of this",
     [](device_rank& here, auto&) {
         if (here.me == 1) here.all.abort("enough of this");
     }},
};

}  // namespace

TEST_CASE("a failure of a device, a host or a rank ends every wait on all ranks with one code") {
    for (const disaster& each : disasters) {
        CAPTURE(each.name);
        simulated_network network(7, {});
        device_stage stage(3);
        test::mix(stage);
        stage.make_transport = [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); };
        test::failures told(3);
        stage.run([&](device_rank& here) { return wait_for_the_worst(here, each, network, told); });
        if (each.dead >= 0) told.erase(told.begin() + each.dead);
        test::check_each(told, each.code, each.words);
    }
}

namespace {

/// A call that only rank 1 makes, or makes differently.
struct mistake {
    const char* name;
    std::function<gpu::operation(device_rank&, const rank_memory&)> call;
    error code;
    const char* words;
};

const mistake mistakes[] = {
    {"another count", [](device_rank& here, const rank_memory& data) { return here.all.all_reduce(data.span(data_type::f32, 0, 60), sum); },
     error::mismatch, "count 60"},
    {"another operation", [](device_rank& here, const rank_memory& data) { return here.all.broadcast(data.all<float>(), 0); },
     error::mismatch, "broadcast"},
    {"an operator that the type has not",
     [](device_rank& here, const rank_memory& data) { return here.all.all_reduce(data.all<float>(), band); }, error::unsupported,
     "band of f32: the operator is not defined for the type"},
    {"a type that the host does not compute with",
     [](device_rank& here, const rank_memory& data) {
         return here.all.all_reduce(gpu::device_span(data.data, 100, gpu::device_type::e4m3), sum);
     },
     error::unsupported, "sum of e4m3: the host moves such elements and does not compute with them"},
    {"a root that is no rank", [](device_rank& here, const rank_memory& data) { return here.all.broadcast(data.all<float>(), 7); },
     error::invalid_argument, "root 7 is not among the ranks"},
    {"no memory", [](device_rank& here, const rank_memory&) { return here.all.broadcast(gpu::device_span(nullptr, 4, data_type::f32), 0); },
     error::invalid_argument, "null pointer"},
};

task<> make_mistake(device_rank& here, const mistake& what, test::failures& told) {
    const rank_memory data = here.place_filled<float>(100, 1.0f);
    gpu::operation made = here.me == 1 ? what.call(here, data) : here.all.all_reduce(data.all<float>(), sum);
    const auto how = co_await as_result(std::move(made).completed());
    REQUIRE_FALSE(how);
    told[static_cast<std::size_t>(here.me)] = how.failure();
}

}  // namespace

TEST_CASE("a call that cannot be right, or is another than the others make, is told on all ranks and in words") {
    for (const mistake& each : mistakes)
        for (const bool on_host : {true, false}) {
            CAPTURE(each.name);
            device_stage stage(2);
            test::mix(stage);
            if (!on_host) stage.device_of = [](rank me) { return me; };
            stage.group.engine = gpu::engine_kind::staged;
            test::failures told(2);
            stage.run([&](device_rank& here) { return make_mistake(here, each, told); });
            test::check_each(told, each.code, each.words);
        }
}

namespace {

task<> send_too_little(device_rank& here, test::failures& told) {
    const rank_memory data = here.place_filled<float>(100, 1.0f);
    gpu::operation made = here.me == 0 ? here.all.send(data.span(data_type::f32, 0, 99), 1) : here.all.recv(data.all<float>(), 0);
    const auto how = co_await as_result(std::move(made).completed());
    if (here.me == 0 && how) {  // it is free again, whatever becomes of it
        auto met = here.all.barrier();
        const auto late = co_await as_result(std::move(met).completed());
        REQUIRE_FALSE(late);
        told[0] = late.failure();
        co_return;
    }
    REQUIRE_FALSE(how);
    told[static_cast<std::size_t>(here.me)] = how.failure();
}

task<> leave_at_once(device_rank& here) {
    auto owner = std::make_shared<int>(1);
    const gpu::keep_alive kept = owner;
    const rank_memory data = here.place_filled<float>(9000, 1.0f);
    // No rank closes: the communicators are destroyed with all of this under way.
    const gpu::operation one = here.all.all_reduce(data.all<float>(), sum, {.keep = &kept});
    const gpu::operation other = here.all.exchange({gpu::send_to(data.all<float>(), 0), gpu::recv_from(here.place(36000).all<float>(), 0)});
    throw failure(error::aborted, "this rank leaves");
}

}  // namespace

TEST_CASE("a message shorter than its receiver expects is told on all ranks") {
    device_stage stage(2);
    test::mix(stage);
    test::failures told(2);
    stage.run([&](device_rank& here) { return send_too_little(here, told); });
    test::check_each(told, error::mismatch, "rank 0 sent 396 bytes where 400 were expected");
}

TEST_CASE("ranks may leave with chunks and messages under way, and nothing is left of them") {
    device_stage stage(3);
    test::mix(stage);
    CHECK_THROWS_AS(stage.run(leave_at_once), const failure&);
}

TEST_CASE("a window that is too narrow or too wide is refused on all ranks, whatever carries operations out") {
    for (const int window : {-1, 0, 1, 65})
        for (const bool mixed : {false, true}) {
            CAPTURE(window);
            device_stage stage(3);
            if (mixed) test::mix(stage);
            stage.window_of = [window](rank me) { return me == 1 ? window : 2 + 62 * (me / 2); };
            test::check_each(stage.join_in_vain(), error::invalid_argument,
                             fmt::format("rank 1 wants a window of {} chunks: 2 to 64 are expected", window));
        }
}

TEST_CASE("a rank without a device that gets no memory for chunks says so on all ranks" * doctest::skip(!test::counts_allocations)) {
    const test::scarce_pages none(32 * MiB);
    device_stage stage(3);
    test::mix(stage);
    stage.group.chunk_bytes = 1 * MiB;
    stage.window_of = [](rank me) { return me == 1 ? 33 : 2; };
    const time_point begun = stage.loop.now();
    const test::failures told = stage.join_in_vain();
    test::check_each(told, error::system, "rank 1: the host has no 34603008 bytes of memory");
    CHECK(stage.loop.now() - begun < 1s);
}

}  // namespace staged_failure_test
