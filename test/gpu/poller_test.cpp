#include "gpu/poller.hpp"

#include "stage.hpp"

#include <tutti/scope.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>
#include <tutti/when_all.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace poller_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

/// Is told, and remembers in which order.
class listener final : public gpu::watched {
public:
    listener(gpu::event what, std::vector<int>& order, int number) : watched(std::move(what)), order_(order), number_(number) {}
    void came(const failure* why) noexcept override {
        failed = why != nullptr;
        order_.push_back(number_);
    }
    void forsaken() noexcept override { order_.push_back(-number_); }

    bool failed = false;

private:
    std::vector<int>& order_;
    const int number_;
};

task<> await_end(gpu::stream on) { co_await on.completed(); }

task<time_point> await_event(gpu::event what) {
    event_loop& loop = co_await this_loop;
    co_await what;
    co_return loop.now();
}

/// Does what a program does that waits for one piece of work after the other.
task<> one_by_one(stepped_stage& stage, gpu::stream on, int times) {
    for (int i = 0; i < times; ++i) {
        stage.kernel(on, 300us);
        co_await on.completed();
    }
}

task<bool> fails_with_device(gpu::event what) {
    try {
        co_await what;
    } catch (const failure& why) {
        co_return why.code() == error::device_failed;
    }
    co_return false;
}

task<> cancel_soon(gpu::stream on, gpu::keep_alive kept) {
    try {
        co_await with_deadline(on.completed(std::move(kept)), 100us);
        CHECK_MESSAGE(false, "the deadline passes first");
    } catch (const failure& why) {
        CHECK(why.code() == error::timed_out);
    }
}

}  // namespace

TEST_CASE("a task goes on when the device has come to the event, and not before") {
    stepped_stage stage;
    const auto on = stage.stream();
    stage.kernel(on, 700us);
    const auto done = on.record().value();
    CHECK_FALSE(done.ready().value());
    const time_point came = run(stage.loop, await_event(done));
    CHECK(came >= time_point(700us));
    CHECK(came <= time_point(700us) + stage.device().inner()->options().longest);
    CHECK(done.ready().value());
}

TEST_CASE("10,000 pending events on 4 streams cost at most 4 questions a sweep") {
    gpu::device_options options;
    options.polling = gpu::poll_mode::timer;
    stepped_stage stage(options);
    std::vector<gpu::stream> streams;
    std::vector<std::unique_ptr<listener>> listeners;
    std::vector<int> order;
    for (int i = 0; i < 4; ++i) {
        streams.push_back(stage.stream());
        stage.kernel(streams.back(), 1s);
    }
    gpu::poller& poller = gpu::poller::of(stage.device().inner(), stage.loop);
    for (int i = 0; i < 10'000; ++i) {
        listeners.push_back(std::make_unique<listener>(streams[static_cast<std::size_t>(i % 4)].record().value(), order, i));
        poller.add(*listeners.back());
    }
    CHECK(poller.pending() == 10'000);
    const std::size_t before = stage.queries();
    const auto wait_a_while = [](duration length) -> task<> { co_await sleep_for(length); };
    run(stage.loop, wait_a_while(500ms));
    const std::size_t asked = stage.queries() - before;
    CHECK(asked % 4 == 0);
    CHECK(asked / 4 >= 500);  // sweeps, a millisecond apart but for the first few
    CHECK(asked / 4 <= 510);
    run(stage.loop, wait_a_while(600ms));
    CHECK(order.size() == 10'000);
    CHECK(poller.pending() == 0);
    CHECK(stage.queries() - before - asked <= 4 * 510 + 4 * 2 * 13);  // found by doubling and halving, not one by one
}

TEST_CASE("with nothing pending nobody is asked, and the loop has no date") {
    stepped_stage stage;
    const auto on = stage.stream();
    stage.kernel(on, 100us);
    run(stage.loop, await_end(on));
    const std::size_t asked = stage.queries();
    const auto calls = stage.machine.calls("cuCtxGetCurrent");
    const time_point before = stage.loop.now();
    stage.loop.run();  // returns, since nothing can ever run
    CHECK(stage.loop.now() == before);
    CHECK(stage.queries() == asked);
    CHECK(stage.machine.calls("cuCtxGetCurrent") == calls);
}

TEST_CASE("those who are told come in the order of their stream, also when they were added in another") {
    stepped_stage stage;
    const auto on = stage.stream();
    std::vector<gpu::event> events;
    for (int i = 0; i < 20; ++i) {
        stage.kernel(on, 10us);
        events.push_back(on.record().value());
    }
    std::vector<int> numbers(20), order;
    for (int i = 0; i < 20; ++i) numbers[static_cast<std::size_t>(i)] = i;
    std::mt19937 random(7);
    std::shuffle(numbers.begin(), numbers.end(), random);
    std::vector<std::unique_ptr<listener>> listeners;
    gpu::poller& poller = gpu::poller::of(stage.device().inner(), stage.loop);
    for (const int i : numbers) {
        listeners.push_back(std::make_unique<listener>(events[static_cast<std::size_t>(i)], order, i));
        poller.add(*listeners.back());
    }
    stage.loop.run();
    REQUIRE(order.size() == 20);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("a fault ends everything pending once, is told in words, and nobody is asked afterwards") {
    stepped_stage stage;
    const auto first = stage.stream(), second = stage.stream();
    stage.kernel(first, 10us);
    const auto before = first.record().value();
    stage.kernel(first, 1s);
    stage.kernel(second, 1s);
    std::vector<int> order;
    listener ended(before, order, 1), one(first.record().value(), order, 2), other(second.record().value(), order, 3);
    gpu::poller& poller = gpu::poller::of(stage.device().inner(), stage.loop);
    for (listener* each : {&ended, &one, &other}) poller.add(*each);
    const auto wait_a_while = [](duration length) -> task<> { co_await sleep_for(length); };
    run(stage.loop, wait_a_while(20ms));
    CHECK(order == std::vector{1});
    stage.machine.fault(0, CUDA_ERROR_ILLEGAL_ADDRESS);
    stage.loop.run();
    CHECK(order == std::vector{1, 2, 3});
    CHECK_FALSE(ended.failed);
    CHECK(one.failed);
    CHECK(other.failed);
    REQUIRE(stage.device().fault());
    CHECK(std::string(stage.device().fault()->what()).find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
    CHECK(std::string(stage.device().fault()->what()).find("device 0") == 0);
    const std::size_t asked = stage.queries();
    CHECK(run(stage.loop, fails_with_device(gpu::event(one.what()))));
    CHECK(second.record().failure().code() == error::device_failed);
    CHECK(stage.queries() == asked);
}

TEST_CASE("what a cancelled future was to keep is kept until the device has come there") {
    stepped_stage stage;
    const auto on = stage.stream();
    stage.kernel(on, 5ms);
    auto memory = std::make_shared<int>(1);
    const std::weak_ptr<int> seen = memory;
    run(stage.loop, cancel_soon(on, std::move(memory)));
    CHECK(stage.loop.now() < time_point(1ms));
    CHECK_FALSE(seen.expired());
    stage.loop.run();
    CHECK(seen.expired());
    CHECK(stage.loop.now() >= time_point(5ms));
}

TEST_CASE("what a loop that ends was waiting for is kept by the device until it has come there") {
    std::weak_ptr<int> seen;
    stepped_stage stage;
    const auto on = stage.stream();
    stage.kernel(on, 5ms);
    {
        event_loop gone(event_loop::virtual_time);
        const auto start = [](gpu::stream which, gpu::keep_alive kept) -> task<> {
            auto dropped = which.completed(std::move(kept));
            co_return;
        };
        auto memory = std::make_shared<int>(1);
        seen = memory;
        run(gone, start(on, std::move(memory)));
    }
    CHECK_FALSE(seen.expired());
    stage.loop.run();
    CHECK(seen.expired());
    CHECK(stage.machine.now() >= time_point(5ms));
}

TEST_CASE("in steady state no event is made, and no stream") {
    stepped_stage stage;
    const auto on = stage.stream();
    run(stage.loop, one_by_one(stage, on, 100));
    const auto events = stage.machine.calls("cuEventCreate"), streams = stage.machine.calls("cuStreamCreateWithPriority");
    CHECK(events == gpu::event_pool::at_first);
    run(stage.loop, one_by_one(stage, on, 1000));
    CHECK(stage.machine.calls("cuEventCreate") == events);
    CHECK(stage.machine.calls("cuStreamCreateWithPriority") == streams);
    CHECK(stage.machine.calls("cuEventDestroy") == 0);
}

TEST_CASE("a capture on another thread is not broken by questions") {
    for (const auto mode : {gpu::poll_mode::adaptive, gpu::poll_mode::host_function}) {
        gpu::device_options options;
        options.polling = mode;
        stepped_stage stage(options);
        const auto on = stage.stream(), captured = stage.stream();
        std::thread([&] {
            const gpu::on_device here(stage.driver, stage.device().inner()->context());
            CHECK(stage.machine.begin_capture(captured.handle(), CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
        }).join();
        stage.kernel(on, 3ms);
        run(stage.loop, await_end(on));
        CHECK(captured.record().failure().code() == error::unsupported);
        std::thread([&] {
            const gpu::on_device here(stage.driver, stage.device().inner()->context());
            CHECK(stage.machine.end_capture(captured.handle()) == CUDA_SUCCESS);
        }).join();
        CHECK(captured.record().has_value());
    }
}

}  // namespace poller_test
