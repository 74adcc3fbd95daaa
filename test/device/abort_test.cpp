// An abort ends what other calls wait for, so it waits for none of them.
#include "device/threads.hpp"

#include <optional>
#include <string>

namespace abort_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;

namespace {

task<> be_aborted(gpu::operation what) {
    const auto how = co_await as_result(std::move(what).completed());
    REQUIRE_FALSE(how);
    CAPTURE(std::string(how.failure().what()));
    CHECK(how.failure().code() == error::aborted);
    CHECK(std::string(how.failure().what()).find("could not abort") == std::string::npos);
}

/// Memory is given back on both ranks, which waits for the operation.
task<> free_beside_a_hang(device_rank& here, context&) {
    std::optional<gpu::device_buffer<float>> other = here.filled<float>(100, 1.0f);
    const auto data = here.filled<float>(100, 1.0f);
    gpu::operation hangs = here.all.all_reduce(data, sum);
    auto enqueued = hangs.enqueued();
    co_await std::move(enqueued);
    other.reset();
    while (here.machine.calls("cuMemFree") < 2) co_await sleep_for(1ms);
    if (here.me == 0) here.all.abort("enough of this");
    auto ending = be_aborted(std::move(hangs));
    co_await std::move(ending);
}

/// Two communicators on one device: what NCCL gives back for one waits for the other's operation; with `behind` its own operation, too.
task<> abort_two(device_rank& here, bool behind) {
    const gpu::stream compute = here.stream();
    const auto data = here.filled<float>(100, 1.0f), more = here.filled<float>(100, 1.0f);
    auto splitting = here.all.split(0, here.me);
    const auto part = co_await std::move(splitting);
    gpu::operation first = part->all_reduce(more, sum);
    auto ordered = first.wait_on(compute);
    co_await std::move(ordered);
    gpu::call_options options;
    options.after = behind ? &compute : nullptr;
    gpu::operation second = here.all.all_reduce(data, sum, options);
    auto enqueued = second.enqueued();
    co_await std::move(enqueued);
    auto met = here.world.barrier();
    co_await std::move(met);
    if (here.me == 0) {
        here.all.abort("enough of this");
        part->abort("enough of that");
    }
    auto ending = be_aborted(std::move(second));
    co_await std::move(ending);
    ending = be_aborted(std::move(first));
    co_await std::move(ending);
}

}  // namespace

TEST_CASE("an abort ends the operation that freed memory waits for") {
    gpu::sim::checked_machine machine(test::threaded_machine_of(2));
    machine.hang_operation(0, 0);
    test::run_threads(machine, 2, {}, {}, test::own_device, free_beside_a_hang);
}

TEST_CASE("aborts of two communicators that wait for each other's operations return") {
    for (const bool behind : {false, true}) {
        CAPTURE(behind);
        gpu::sim::checked_machine machine(test::threaded_machine_of(2));
        machine.hang_operation(0, 0);
        test::run_threads(machine, 2, {}, {}, test::own_device, [behind](device_rank& here, context&) { return abort_two(here, behind); });
    }
}

}  // namespace abort_test
