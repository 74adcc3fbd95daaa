#include <tutti/gpu/stream.hpp>

#include "stage.hpp"

#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <string>
#include <vector>

namespace stream_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

task<> await_end(gpu::stream on) { co_await on.completed(); }

task<time_point> time_of_end(gpu::stream on) {
    event_loop& loop = co_await this_loop;
    co_await on.completed();
    co_return loop.now();
}

}  // namespace

TEST_CASE("one stream waits for another's event, and no thread does") {
    stepped_stage stage;
    const auto first = stage.stream(), second = stage.stream();
    std::vector<int> order;
    stage.kernel(first, 1ms, [&order] { order.push_back(1); });
    CHECK(second.wait(first.record().value()));
    stage.kernel(second, 0us, [&order] { order.push_back(2); });
    CHECK(order.empty());
    run(stage.loop, await_end(second));
    CHECK(order == std::vector{1, 2});
    CHECK(stage.machine.trace().waits.empty());
}

TEST_CASE("waiting for what has come costs no call") {
    stepped_stage stage;
    const auto first = stage.stream(), second = stage.stream();
    const auto done = first.record().value();
    stage.loop.run();
    stage.machine.run();
    CHECK(done.ready().value());
    CHECK(second.wait(done));
    CHECK(stage.machine.calls("cuStreamWaitEvent") == 0);
}

TEST_CASE("the null stream is a stream: what is behind it has not been done yet") {
    stepped_stage stage;
    const auto null = gpu::stream::borrow(stage.device(), nullptr);
    stage.kernel(null, 1ms);
    const auto end = null.record().value();
    CHECK_FALSE(end.ready().value());
    run(stage.loop, await_end(null));
    CHECK(end.ready().value());
    CHECK(stage.loop.now() >= time_point(1ms));
}

TEST_CASE("a borrowed stream is not destroyed, one of its own is, after its work and off the caller's path") {
    stepped_stage stage;
    {
        const auto own = stage.stream();
        const auto borrowed = gpu::stream::borrow(stage.device(), own.handle());
        CHECK(borrowed.handle() == own.handle());
        stage.kernel(own, 1ms);
    }
    CHECK(stage.machine.calls("cuStreamDestroy") == 0);
    stage.loop.run();
    CHECK(stage.machine.calls("cuStreamDestroy") == 1);
}

TEST_CASE("streams of its own do not wait for the null stream") {
    stepped_stage stage;
    const auto own = gpu::stream::make(stage.device(), gpu::stream_priority::high).value();
    const auto null = gpu::stream::borrow(stage.device(), nullptr);
    stage.kernel(null, 1s);
    stage.kernel(own, 1ms);
    CHECK(run(stage.loop, time_of_end(own)) < time_point(1s));
}

TEST_CASE("a stream that is being captured is refused in words") {
    stepped_stage stage;
    const auto on = stage.stream();
    {
        const gpu::on_device here(stage.driver, stage.device().inner()->context());
        REQUIRE(stage.machine.begin_capture(on.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
    }
    const auto refused = on.record();
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code() == error::unsupported);
    CHECK(std::string(refused.failure().what()).find("is being captured") != std::string::npos);
    CHECK_THROWS_AS(run(stage.loop, await_end(on)), failure);
    const gpu::on_device here(stage.driver, stage.device().inner()->context());
    CHECK(stage.machine.end_capture(on.handle()) == CUDA_SUCCESS);
}

TEST_CASE("a stream that is another one on each thread is refused, and the driver is not asked") {
    stepped_stage stage;
    const auto mine = gpu::stream::borrow(stage.device(), CU_STREAM_PER_THREAD);
    CHECK(mine.record().failure().code() == error::unsupported);
    CHECK(mine.wait(stage.stream().record().value()).failure().code() == error::unsupported);
    CHECK_THROWS_WITH(run(stage.loop, await_end(mine)), doctest::Contains("CU_STREAM_PER_THREAD"));
}

TEST_CASE("a stream that cannot be made, recorded or waited with says so, and loses no event") {
    stepped_stage stage;
    stage.machine.fail("cuStreamCreateWithPriority", CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(gpu::stream::make(stage.device()).failure().code() == error::device_failed);
    const auto on = stage.stream();
    stage.machine.fail("cuEventRecord", CUDA_ERROR_INVALID_VALUE, 0, 200);
    for (int i = 0; i < 200; ++i) CHECK(on.record().failure().code() == error::device_failed);
    CHECK(stage.machine.calls("cuEventCreate") == gpu::event_pool::at_first);
    const auto end = on.record().value();
    stage.machine.fail("cuStreamWaitEvent", CUDA_ERROR_INVALID_VALUE);
    CHECK(on.wait(end).failure().code() == error::device_failed);
    CHECK(on.synchronize());
    CHECK_FALSE(stage.device().fault());
}

TEST_CASE("what was to be kept is kept until the stream is idle when no event can be had") {
    stepped_stage stage;
    const auto on = stage.stream();
    stage.kernel(on, 1ms);
    auto memory = std::make_shared<int>(1);
    const std::weak_ptr<int> seen = memory;
    stage.machine.fail("cuEventRecord", CUDA_ERROR_INVALID_VALUE);
    CHECK_THROWS_AS(on.completed(std::move(memory)).get(), failure);
    CHECK_FALSE(seen.expired());
    stage.loop.run();
    CHECK(seen.expired());
    CHECK(stage.machine.now() >= time_point(1ms));
}

}  // namespace stream_test
