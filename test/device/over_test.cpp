// Streams of the caller's: a communicator works on one, and its operations are ordered with others.
#include "device/threads.hpp"
#include "support/failures.hpp"

#include <optional>

namespace over_test {

using namespace tutti;
using test::device_rank;
using test::device_stage;

TEST_CASE("a communication stream of another device is refused on all ranks") {
    device_stage stage(2);
    stage.over = [&stage](const gpu::device& mine) {
        if (mine.ordinal() == 0) return std::optional(gpu::stream::make(mine).value());
        const auto other = gpu::open_device(stage.driver, 0, {}, {&stage.loop, &stage.loop, &stage.loop}).value();
        return std::optional(gpu::stream::make(other).value());
    };
    test::check_each(stage.join_in_vain(), error::invalid_argument,
                     "rank 1: the communication stream is of device 0; one of device 1 is expected");
    CHECK(stage.machine.calls("ncclCommInitRankConfig") == 0);
}

namespace {

task<> average_alone(device_rank& here) {
    const auto data = here.filled<float>(100, 3.0f);
    for (int times = 0; times < 10; ++times) {
        auto averaged = here.all.all_reduce(data, avg);
        co_await std::move(averaged);
    }
    CHECK(here.at(data, 99) == 3.0f);
}

}  // namespace

TEST_CASE("where the communication stream is of another handle of the device, the communicator's own still calls NCCL") {
    gpu::sim::checked_machine machine(test::threaded_machine_of(1));
    machine.polls(3);
    const gpu::driver_table driver = machine.driver();
    std::optional<gpu::stream> over = gpu::stream::make(gpu::open_device(driver, 0).value()).value();
    gpu::group_options how;
    how.over = &*over;
    test::run_threads(machine, 1, {}, how, test::own_device, [&over](device_rank& here, context&) {
        over.reset();  // the communicator has it
        return average_alone(here);
    });
}

namespace {

/// As another library might, behind the communicator's back.
task<> call_while_over_is_captured(device_rank& here, test::failures& told) {
    const gpu::device_state& card = *here.card.inner();
    const auto data = here.filled<float>(100, 1.0f);
    {
        const gpu::on_device current(card.driver(), card.context());
        REQUIRE(here.machine.begin_capture(here.all.over()->handle(), CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    }
    auto refused = here.all.all_reduce(data, sum);
    const auto how = co_await as_result(std::move(refused).completed());
    {
        const gpu::on_device current(card.driver(), card.context());
        CHECK(here.machine.end_capture(here.all.over()->handle()) == CUDA_SUCCESS);
    }
    REQUIRE_FALSE(how);
    told[static_cast<std::size_t>(here.me)] = how.failure();
}

}  // namespace

TEST_CASE("a call while the communication stream is being captured is refused before NCCL sees it") {
    device_stage stage(2);
    test::failures told(2);
    stage.run([&](device_rank& here) { return call_while_over_is_captured(here, told); });
    test::check_each(told, error::unsupported, "the stream is being captured");
    CHECK(stage.machine.calls("ncclAllReduce") == 0);
}

namespace {

task<> lose_the_stream(device_rank& here) {
    const gpu::device_state& card = *here.card.inner();
    const auto data = here.filled<float>(100, 1.0f);
    CUstream mine = nullptr;
    {
        const gpu::on_device current(card.driver(), card.context());
        REQUIRE(card.driver().cuStreamCreateWithPriority(&mine, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    }
    gpu::operation summed = here.all.all_reduce(data, sum);
    { const future<> given_up = summed.wait_on(gpu::stream::borrow(here.card, mine)); }
    {
        const gpu::on_device current(card.driver(), card.context());
        CHECK(card.driver().cuStreamDestroy(mine) == CUDA_SUCCESS);
    }
    co_await std::move(summed);
}

}  // namespace

TEST_CASE("who has given up being ordered may destroy the stream at once") {
    device_stage stage(2);
    stage.run(lose_the_stream);
    CHECK(stage.machine.calls("cuStreamWaitEvent") == 0);
}

}  // namespace over_test
