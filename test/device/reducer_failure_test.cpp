// The failures that end a step of the reducer on devices, on all ranks; and the calls that are refused from the beginning.
#include "device/gradients.hpp"
#include "support/failures.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>

namespace reducer_failure_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_gradients;
using test::device_rank;
using test::device_stage;
using test::memory;
using test::outcome;
using test::small_buckets;

namespace {

enum class trouble { aborts, drops, gives_up, hangs, breaks, fails_later };

struct disaster {
    const char* name;
    trouble what;
    error code;
    const char* words;
};
const disaster disasters[] = {
    {"a rank aborts", trouble::aborts, error::aborted, "rank 1 aborted: no more memory"},
    {"a reducer is dropped in a step", trouble::drops, error::aborted,
     "rank 1 aborted: the reducer was destroyed in the middle of step #2"},
    {"a finish is given up", trouble::gives_up, error::aborted, "rank 1 aborted: nobody waits for the end of reducer step #2 any more"},
    {"a bucket's operation hangs", trouble::hangs, error::timed_out, "(bucket "},
    {"NCCL reports an error", trouble::fails_later, error::system, "rank 1 on device 1: NCCL: unhandled system error"},
    {"a device breaks", trouble::breaks, error::device_failed, "rank 1 on device 1"},
};

/// The first step is good; in the second something happens on rank 1. Told by the end of it, or by the next that is ended.
task<> fail_in_the_middle(device_rank& here, const disaster& what, bool ordered, test::failures& told) {
    const gpu::stream compute = here.stream();
    const device_gradients mine(here, memory::mixed);
    reducer_options options = small_buckets();
    options.deadline = 1s;
    auto all = std::make_unique<gpu::reducer>(here.all, mine.parameters(), options);
    mine.backward(*all, compute, 0);
    auto first = all->finish();
    co_await std::move(first);

    const bool mean = here.me == 1;
    const std::size_t some = mean && what.what != trouble::fails_later && what.what != trouble::hangs ? 4 : 0;
    for (std::size_t which = mine.size(); which-- > some;) mine.make(*all, compute, which, 1);
    if (mean && what.what == trouble::aborts) here.all.abort("no more memory");
    if (mean && what.what == trouble::drops) all.reset();
    if (mean && what.what == trouble::gives_up) {
        for (std::size_t which = some; which-- > 0;) {
            here.kernel(compute, 300ms, {}, "long");
            all->ready(which, compute);
        }
        auto given_up = outcome(with_deadline(all->finish(), 20ms));
        const auto how = co_await std::move(given_up);
        REQUIRE(how);
        CHECK(how->code() == error::timed_out);
    }
    if (mean && what.what == trouble::breaks) here.machine.fault(1);
    if (mean && some > 0) {
        auto ended = here.all.watch();
        const auto how = co_await as_result(std::move(ended));
        if (!how) told[1] = how.failure();
        co_return;
    }
    for (int step = 1; step < 4; ++step) {  // what goes wrong on the device may be told by a later step
        if (step > 1) mine.backward(*all, compute, step);
        auto end = outcome(ordered ? all->finish_on(compute) : all->finish());
        told[static_cast<std::size_t>(here.me)] = co_await std::move(end);
        if (told[static_cast<std::size_t>(here.me)]) break;
    }
    auto last = outcome(all->finish());
    CHECK(co_await std::move(last));  // it stays failed
}

}  // namespace

TEST_CASE("what ends a step on one device ends it on all ranks, with one cause") {
    for (const disaster& each : disasters)
        for (const bool ordered : {false, true}) {
            CAPTURE(each.name);
            CAPTURE(ordered);
            device_stage stage(3);
            // Five buckets a step.
            if (each.what == trouble::hangs) stage.machine.hang_operation(1, 9);
            if (each.what == trouble::fails_later) stage.machine.fail_operation(1, 9, ncclSystemError);
            test::failures told(3);
            stage.run([&](device_rank& here) { return fail_in_the_middle(here, each, ordered, told); });
            test::check_each(told, each.code, each.words);
        }
}

namespace {

/// A mistake with the marks, on rank 0.
struct mistake {
    const char* name;
    std::function<void(gpu::reducer&, const gpu::stream&)> make;
    const char* words;
};
const mistake mistakes[] = {
    {"marked twice", [](auto& all, auto& compute) { all.ready(8, compute), all.ready(8, compute); },
     "parameter 'layer 8' was marked twice in one backward pass"},
    {"no such parameter", [](auto& all, auto& compute) { all.ready(9, compute); }, "there is no parameter 9, only 9"},
    {"no stream", [](auto& all, auto&) { all.ready(8); }, "parameter 'layer 8' was marked without a stream, on a rank with a device"},
    {"missing", [](auto& all, auto& compute) { all.ready(8, compute), all.mark_unused(7, compute); },
     "7 of 9 parameters got no gradient: 'layer 0', 'layer 1'"},
};

task<> make_mistake(device_rank& here, const mistake& what, test::failures& told) {
    const gpu::stream compute = here.stream();
    const device_gradients mine(here, memory::mixed);
    gpu::reducer all(here.all, mine.parameters(), small_buckets());
    if (here.me == 0) what.make(all, compute);
    else mine.backward(all, compute, 0);
    auto end = outcome(all.finish_on(compute));
    told[static_cast<std::size_t>(here.me)] = co_await std::move(end);
}

}  // namespace

TEST_CASE("a mistake with the marks is told here as what it is, and on the other ranks as the reason") {
    for (const mistake& each : mistakes) {
        CAPTURE(each.name);
        device_stage stage(2);
        test::failures told(2);
        stage.run([&](device_rank& here) { return make_mistake(here, each, told); });
        REQUIRE(told[0]);
        CHECK(told[0]->code() == error::invalid_argument);
        REQUIRE(told[1]);
        CHECK(told[1]->code() == error::aborted);
        for (const auto& each_told : told) {
            CAPTURE(each_told->what());
            CHECK(test::says(*each_told, each.words));
        }
    }
}

namespace {

task<> disagree(device_rank& here, bool about_memory, test::failures& told) {
    const gpu::stream compute = here.stream();
    const bool other = here.me == 1;
    const device_gradients mine(here, about_memory && other ? memory::gathered : memory::placed,
                                {100, !about_memory && other ? std::size_t{201} : std::size_t{200}});
    gpu::reducer all(here.all, mine.parameters());
    mine.backward(all, compute, 0);
    auto end = outcome(all.finish_on(compute));
    told[static_cast<std::size_t>(here.me)] = co_await std::move(end);
    // The communicator is none the worse.
    auto met = here.all.barrier();
    co_await std::move(met);
}

}  // namespace

TEST_CASE("ranks whose gradients differ, or travel in other parts, are told so before the first bucket leaves") {
    for (const bool about_memory : {false, true}) {
        CAPTURE(about_memory);
        device_stage stage(3);
        test::failures told(3);
        stage.run([&](device_rank& here) { return disagree(here, about_memory, told); });
        test::check_each(told, error::mismatch, "ranks disagree about the gradients: rank 0 has in bucket 0: ");
        test::check_each(told, error::mismatch, about_memory ? "one operation on 300 elements" : "f32 x 201 of parameter 1");
    }
}

namespace {

/// Buckets are on their way when their reducer is gone; the device takes its time.
task<> drop_after_the_step(device_rank& here) {
    const gpu::stream compute = here.stream();
    {
        const device_gradients mine(here, memory::mixed);
        gpu::reducer all(here.all, mine.parameters(), small_buckets());
        here.kernel(compute, 20ms);
        for (std::size_t which = mine.size(); which-- > 0;) all.ready(which, compute);
        auto end = all.finish_on(compute);
        co_await std::move(end);
    }
    CHECK(here.machine.calls("cuMemFree") == 0);
    auto met = here.all.barrier();
    co_await std::move(met);
}

}  // namespace

TEST_CASE("a reducer that is dropped after a step leaves its buckets to the device, with their memory") {
    device_stage stage(2);
    stage.run(drop_after_the_step);
    stage.leave();
    CHECK(stage.machine.calls("cuMemFree") > 0);
}

namespace {

struct refusal {
    const char* name;
    std::function<std::vector<gpu::parameter>(const device_rank&, const gpu::device&)> parameters;
    error code;
    const char* words;
};

const refusal refusals[] = {
    {"memory of the host",
     [](const auto&, const auto&) {
         static float here[4];
         return std::vector<gpu::parameter>{{"mine", gpu::device_span(std::span<float>(here))}};
     },
     error::invalid_argument, "parameter 'mine': "},
    {"memory of another device",
     [](const auto&, const gpu::device& far) {
         return std::vector<gpu::parameter>{{"far", gpu::device_buffer<float>::allocate(far, 4).value()}};
     },
     error::invalid_argument, "parameter 'far': "},
    {"gradients that overlap",
     [](const device_rank& here, const auto&) {
         const gpu::device_span all = here.filled<float>(10, 0.0f);
         return std::vector<gpu::parameter>{{"one", all.part(4, 6)}, {"two", all.part(0, 5)}};
     },
     error::invalid_argument, "parameter 'one': its gradient overlaps that of 'two'"},
    {"a type without an average",
     [](const auto&, const auto&) {
         return std::vector<gpu::parameter>{{"short", 10, data_type::i16}};
     },
     error::unsupported, "'short'"},
    {"a type of devices only",
     [](const auto&, const auto&) {
         return std::vector<gpu::parameter>{{"small", gpu::device_span(nullptr, 10, gpu::device_type::e4m3)}};
     },
     error::unsupported, "parameter 'small' is of type e4m3, which has no average"},
    {"more than the device has",
     [](const auto&, const auto&) {
         return std::vector<gpu::parameter>{{"large", std::size_t{1} << 44, data_type::f32}};
     },
     error::device_failed, "cuMemAlloc"},
};

/// Rank 1 alone is refused.
task<> be_refused(device_rank& here, const refusal& what, const gpu::device& far, test::failures& told) {
    event_loop& loop = co_await this_loop;
    const time_point begun = loop.now();
    auto& mine = told[static_cast<std::size_t>(here.me)];
    if (here.me == 1) {
        try {
            const gpu::reducer all(here.all, what.parameters(here, far));
        } catch (const failure& why) {
            mine = why;
        }
        co_return;
    }
    const gpu::stream compute = here.stream();
    const device_gradients sound(here, memory::mixed);
    gpu::reducer all(here.all, sound.parameters());
    sound.backward(all, compute, 0);
    auto end = outcome(all.finish_on(compute));
    mine = co_await std::move(end);
    CHECK(loop.now() - begun < 100ms);
}

}  // namespace

TEST_CASE("parameters that cannot be right are refused by name, and no rank waits for one that was refused") {
    for (const refusal& each : refusals) {
        CAPTURE(each.name);
        device_stage stage(3);
        auto far = stage.open(0);
        test::failures told(3);
        stage.run([&](device_rank& here) { return be_refused(here, each, *far, told); });
        test::check_each(told, each.code, each.words);
        for (const rank other : {0, 2}) CHECK(test::says(*told[static_cast<std::size_t>(other)], "rank 1 made no reducer: "));
    }
}

}  // namespace reducer_failure_test
