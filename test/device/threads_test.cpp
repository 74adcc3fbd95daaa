// Ranks as they are in a program: each with threads of its own for calls, for progress and for its device; and a device that takes its time.
#include "device/threads.hpp"
#include "device/gradients.hpp"
#include "gpu/poll_modes.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace threads_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;

namespace {

task<> call_a_lot(device_rank& here, context&) {
    const gpu::stream compute = here.stream();
    const int size = here.all.size();
    const auto data = here.filled<std::int64_t>(500, 1), parts = here.filled<std::int64_t>(500 * static_cast<std::size_t>(size), 0);
    for (int round = 0; round < 20; ++round) {
        here.kernel(compute, 20us, [&here, &data] {
            for (std::size_t index = 0; index < data.size(); ++index)
                reinterpret_cast<std::int64_t*>(here.shadow(data.data()))[index] = here.me + 1;
        });
        gpu::operation summed = here.all.all_reduce(data, sum, {.after = &compute});
        { const gpu::operation dropped = here.all.barrier(); }
        gpu::operation gathered = here.all.all_gather(data, parts);
        future<> ordered = gathered.wait_on(compute);
        co_await std::move(gathered);
        CHECK(here.at(data, 499) == size * (size + 1) / 2);
        CHECK(here.at(parts, parts.size() - 1) == size * (size + 1) / 2);
        co_await std::move(ordered);
        co_await std::move(summed);
    }
}

}  // namespace

TEST_CASE("ranks with threads of their own get the same results as others") {
    for (const gpu::poll_mode polling : {gpu::poll_mode::adaptive, gpu::poll_mode::thread}) {
        CAPTURE(static_cast<int>(polling));
        gpu::sim::checked_machine machine(test::threaded_machine_of(3));
        machine.polls(2);
        test::run_threads(machine, 3, test::polled(polling), {}, test::own_device, call_a_lot);
    }
}

namespace {

/// Two devices at a time: each engine, with the loop that asks the device and with a thread that does.
template <class F>
void for_each_engine(F body) {
    for (const gpu::engine_kind kind : {gpu::engine_kind::nccl, gpu::engine_kind::staged})
        for (const gpu::poll_mode polling : {gpu::poll_mode::adaptive, gpu::poll_mode::thread}) {
            CAPTURE(static_cast<int>(kind));
            CAPTURE(static_cast<int>(polling));
            gpu::sim::checked_machine machine(test::threaded_machine_of(2));
            gpu::group_options how;
            how.engine = kind;
            body(machine, test::polled(polling), how);
        }
}

/// The rank waits for some steps, and not for others.
task<> train_a_little(device_rank& here, context&) {
    const gpu::stream compute = here.stream(), other = here.stream();
    const test::device_gradients mine(here, test::memory::mixed);
    gpu::reducer all(here.all, mine.parameters(), test::small_buckets());
    for (int step = 0; step < 12; ++step) {
        for (std::size_t which = mine.size(); which-- > 0;) mine.make(all, which % 3 == 0 ? other : compute, which, step);
        auto ending = step % 3 == 2 ? all.finish() : all.finish_on(compute);
        co_await std::move(ending);
        auto behind = compute.record();
        CHECK(behind);
        CHECK(other.wait(*behind));
        if (step % 3 == 2) CHECK(mine.wrong_averages(all, here.all.size(), step) == 0);
    }
    CHECK(all.stats().total.steps == 12);
}

}  // namespace

TEST_CASE("ranks with threads of their own train as others do") {
    for_each_engine([](gpu::sim::machine& machine, gpu::device_options card, gpu::group_options how) {
        machine.polls(2);
        test::run_threads(machine, 2, card, how, test::own_device, train_a_little);
    });
}

namespace {

/// Some operations are over, some are about to be, and the rest wait for a kernel.
task<> leave_in_the_middle(device_rank& here, context&) {
    const gpu::stream compute = here.stream();
    const auto data = here.filled<float>(5000, 1.0f);
    std::vector<gpu::operation> all;
    for (int each = 0; each < 12; ++each) {
        if (each > 6) here.kernel(compute, 2ms);
        all.push_back(here.all.all_reduce(data, sum, {.after = &compute}));
    }
    const auto how = co_await as_result(std::move(all[3]).completed());
    if (!how) CHECK(how.failure().details().peers == std::vector<rank>{1 - here.me});  // the other one has left
    throw test::departure();
}

}  // namespace

TEST_CASE("ranks may leave with operations under way, whichever thread asks for them") {
    for (int times = 0; times < 5; ++times)
        for_each_engine([](gpu::sim::machine& machine, gpu::device_options card, gpu::group_options how) {
            test::run_threads(machine, 2, card, how, test::own_device, leave_in_the_middle);
        });
}

namespace {

/// Rank 1's device breaks in a kernel that both ranks' operations wait for.
task<> break_in_the_middle(device_rank& here, context&) {
    const gpu::stream compute = here.stream();
    const auto data = here.filled<float>(5000, 1.0f);
    if (here.me == 1) here.kernel(compute, 1h);
    std::vector<gpu::operation> all;
    for (int each = 0; each < 6; ++each) all.push_back(here.all.all_reduce(data, sum, {.after = &compute}));
    auto met = here.world.barrier();
    co_await std::move(met);
    if (here.me == 1) here.machine.fault(1);
    all.push_back(here.all.barrier());
    for (gpu::operation& each : all) {
        const auto how = co_await as_result(std::move(each).completed());
        REQUIRE_FALSE(how);
        CAPTURE(std::string(how.failure().what()));
        CHECK(how.failure().code() == error::device_failed);
        CHECK(std::string(how.failure().what()).find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
    }
}

}  // namespace

TEST_CASE("a device that breaks ends everything on both ranks, whichever thread asks it") {
    for_each_engine([](gpu::sim::machine& machine, gpu::device_options card, gpu::group_options how) {
        test::run_threads(machine, 2, card, how, test::own_device, break_in_the_middle);
    });
}

namespace {

/// A call of the driver's or NCCL's that does not return; and what an operation that needs it ends with.
struct obstacle {
    const char* entry_point;
    bool hangs = false;  // the operation, so that it must be aborted
    bool operation_fails = false;
    const char* words = "";
    gpu::poll_mode polling = gpu::poll_mode::adaptive;
};

const obstacle obstacles[] = {
    {"ncclAllReduce", false, true, "not yet enqueued"},
    {"ncclCommGetAsyncError", false, true, "not yet enqueued"},
    {"cuStreamWaitEvent", false, true, "not yet enqueued"},
    {"cuEventQuery", false, true, ", enqueued on device", gpu::poll_mode::thread},
    {"ncclCommAbort", true, true, "could not abort NCCL's communicator"},
    {"ncclCommFinalize"},
    {"ncclCommDestroy"},
    {"cuMemFree"},
};

task<> meet_obstacle(device_rank& here, context& home, const obstacle& what, std::atomic<int>& through) {
    const gpu::stream compute = here.stream();
    auto data = std::make_unique<gpu::device_buffer<float>>(here.filled<float>(100, 1.0f));
    auto met = here.world.barrier();
    co_await std::move(met);
    if (here.me == 0) here.machine.stick(what.entry_point);
    auto set = here.world.barrier();
    co_await std::move(set);

    gpu::operation summed = here.all.all_reduce(*data, sum, {.after = &compute, .deadline = what.operation_fails ? 1s : 10s});
    gpu::operation behind = here.all.barrier({.deadline = 10s});
    future<> waits[] = {std::move(summed).completed(), std::move(behind).completed(), behind.enqueued(), summed.wait_on(compute)};
    for (std::size_t each = 0; each < std::size(waits); ++each) {
        const auto how = co_await as_result(std::move(waits[each]));
        CAPTURE(each);
        if (each < 2) CHECK(how.has_value() != what.operation_fails);
        if (how) continue;
        CAPTURE(std::string(how.failure().what()));
        CHECK(how.failure().code() == error::timed_out);
        CHECK(std::string(how.failure().what()).find(what.words) != std::string::npos);
    }
    data.reset();
    auto closing = here.all.close();
    try {
        co_await std::move(closing);
        CHECK(false);  // what is to follow the call that does not return is not done
    } catch (const failure& why) {
        CAPTURE(std::string(why.what()));
        CHECK(why.code() == error::timed_out);
    }
    auto going_on = test::go_on_meanwhile(here, home, what.entry_point);
    co_await std::move(going_on);
    auto letting_go = test::release_together(here, what.entry_point, through);
    co_await std::move(letting_go);
}

}  // namespace

TEST_CASE("whatever call does not return, timers go on, and whoever waits is told in the end") {
    for (const obstacle& each : obstacles) {
        CAPTURE(each.entry_point);
        gpu::sim::checked_machine machine(test::threaded_machine_of(2));
        if (each.hangs) machine.hang_operation(0, 0);
        gpu::device_options card;
        card.stuck = 500ms;
        card.polling = each.polling;
        std::atomic<int> through{0};
        test::run_threads(machine, 2, card, {}, test::own_device,
                          [&](device_rank& here, context& home) { return meet_obstacle(here, home, each, through); });
    }
}

}  // namespace threads_test
