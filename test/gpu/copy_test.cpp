#include <tutti/gpu/copy.hpp>

#include "stage.hpp"

#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/task.hpp>

#include <numeric>
#include <optional>

namespace copy_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

task<> there_and_back(gpu::stream on, gpu::device where) {
    const auto host = gpu::pinned_buffer<int>::allocate(where, 1000).value(), back = gpu::pinned_buffer<int>::allocate(where, 1000).value();
    const auto first = gpu::device_buffer<int>::allocate(where, 1000).value(),
               second = gpu::device_buffer<int>::allocate(where, 1000).value();
    std::iota(host.values().begin(), host.values().end(), 5);
    auto up = gpu::copy(on, first, host);
    auto across = gpu::copy(on, second, first);
    auto zeros = gpu::fill(on, second.part(10, 20), std::byte{0});
    auto down = gpu::copy(on, back, second);
    co_await down;
    co_await gpu::copy(on, first.part(0, 500), second.part(500, 500));
    CHECK(up.ready());
    CHECK(across.ready());
    CHECK(zeros.ready());
    for (int i = 0; i < 1000; ++i) CHECK(back[static_cast<std::size_t>(i)] == (i >= 10 && i < 30 ? 0 : i + 5));
}

task<> await(future<> what) { co_await what; }

}  // namespace

TEST_CASE("bytes go to the device, across it and back, in the order of the calls") {
    stepped_stage stage;
    run(stage.loop, there_and_back(stage.stream(), stage.device()));
}

TEST_CASE("the same in real time, with threads") {
    threaded_stage stage;
    run(stage.loop, there_and_back(stage.stream(), stage.device()));
}

TEST_CASE("buffers live until a copy has ended, though everybody has let go of them and of its future") {
    stepped_stage stage;
    const auto on = stage.stream();
    {
        const auto host = gpu::pinned_buffer<int>::allocate(stage.device(), 1000).value();
        const auto memory = gpu::device_buffer<int>::allocate(stage.device(), 1000).value();
        stage.kernel(on, 1ms);
        auto dropped = gpu::copy(on, memory, host);
        dropped.cancel();
    }
    CHECK(stage.machine.calls("cuMemFree") == 0);
    stage.loop.run();
    CHECK(stage.machine.calls("cuMemFree") == 1);
    CHECK(stage.machine.calls("cuMemFreeHost") == 1);
}

TEST_CASE("parts of different length are refused before anything is enqueued, and none at all is nothing") {
    stepped_stage stage;
    const auto on = stage.stream();
    const auto host = gpu::pinned_buffer<int>::allocate(stage.device(), 10).value();
    const auto memory = gpu::device_buffer<int>::allocate(stage.device(), 11).value();
    const auto none = gpu::device_buffer<int>::allocate(stage.device(), 0).value();
    CHECK(gpu::enqueue_copy(on, memory, host).failure().code() == error::invalid_argument);
    CHECK(gpu::enqueue_copy(on, host, memory).failure().code() == error::invalid_argument);
    CHECK_THROWS_WITH(run(stage.loop, await(gpu::copy(on, memory, host))), "40 bytes do not go where there are 44");
    CHECK(none.data() == nullptr);
    CHECK(gpu::enqueue_copy(on, none, host.part(0, 0)));
    CHECK(gpu::enqueue_fill(on, none, std::byte{1}));
    CHECK(stage.machine.calls("cuMemcpyHtoDAsync") == 0);
    CHECK(stage.machine.calls("cuMemsetD8Async") == 0);
}

TEST_CASE("a copy that the driver refuses fails with its words; no copy and no wait goes into a capture") {
    stepped_stage stage;
    const auto on = stage.stream(), other = stage.stream();
    const auto host = gpu::pinned_buffer<int>::allocate(stage.device(), 10).value();
    const auto memory = gpu::device_buffer<int>::allocate(stage.device(), 10).value();
    stage.machine.fail("cuMemcpyHtoDAsync", CUDA_ERROR_INVALID_VALUE);
    CHECK_THROWS_WITH(run(stage.loop, await(gpu::copy(on, memory, host))),
                      doctest::Contains("cuMemcpyHtoDAsync: CUDA_ERROR_INVALID_VALUE"));
    stage.kernel(other, 1ms);
    const auto outside = other.record().value();
    const gpu::on_device here(stage.driver, stage.device().inner()->context());
    REQUIRE(stage.machine.begin_capture(on.handle(), CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    CHECK(gpu::enqueue_copy(on, memory, host).failure().code() == error::unsupported);
    CHECK(gpu::enqueue_fill(on, memory, std::byte{1}).failure().code() == error::unsupported);
    CHECK(on.wait(outside).failure().code() == error::unsupported);
    CHECK(stage.machine.end_capture(on.handle()) == CUDA_SUCCESS);
}

}  // namespace copy_test
