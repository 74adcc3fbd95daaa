// A device for which not only one loop of the library's own waits: a guest on a program's executor, several loops at once, and threads
// that capture meanwhile.
#include "poll_modes.hpp"
#include "runtime/asio.hpp"
#include "stage.hpp"

#include <tutti/asio.hpp>
#include <tutti/scope.hpp>
#include <tutti/task.hpp>

#include <atomic>
#include <exception>
#include <future>
#include <thread>
#include <vector>

namespace loops_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;
using gpu::poll_mode;

namespace {

/// One piece of work after the other, short and long.
task<> wait_often(threaded_stage& stage, gpu::stream on, int times, std::atomic<int>& ended) {
    event_loop& mine = co_await this_loop;
    for (int i = 0; i < times; ++i) {
        bool ran = false;
        stage.kernel(on, std::chrono::microseconds(i % 3 * 700), [&ran] { ran = true; });
        co_await on.completed();
        CHECK(ran);
        CHECK(mine.here());
        ++ended;
    }
}

task<> wait_on_all(threaded_stage& stage, int streams, int times, std::atomic<int>& ended) {
    scope nursery;
    for (int each = 0; each < streams; ++each) nursery.start(wait_often(stage, stage.stream(), times, ended));
    co_await nursery.join();
}

/// Handlers of the host program's own, over and over.
struct chatter {
    asio::io_context& context;
    std::atomic<bool> over = false;
    std::atomic<int> said = 0;
    void say() {
        ++said;
        if (!over) asio::post(context, [this] { say(); });
    }
    /// Called by another thread: whether ten more come before a minute has passed.
    bool goes_on() const {
        const auto deadline = std::chrono::steady_clock::now() + 1min;
        const int before = said;
        while (said < before + 10 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(100us);
        return said >= before + 10;
    }
};

/// Work that takes as long as the host needs to go on: a thread that waited for it in the host's way would wait in vain.
task<> wait_while_host_goes_on(threaded_stage& stage, gpu::stream on, const chatter& others) {
    bool went_on = false;
    stage.kernel(on, {}, [&] { went_on = others.goes_on(); });
    co_await on.completed();
    CHECK(went_on);
}

task<> wait_as_guest(threaded_stage& stage, const chatter& others, std::atomic<int>& ended) {
    co_await wait_on_all(stage, 3, 10, ended);
    co_await wait_while_host_goes_on(stage, stage.stream(), others);
}

}  // namespace

TEST_CASE("in every mode a guest on somebody else's executor waits for devices, and its host goes on") {
    for (const poll_mode mode : poll_modes) {
        CAPTURE(static_cast<int>(mode));
        threaded_stage stage(polled(mode));
        asio::io_context context;
        event_loop guest{host{context.get_executor()}};
        std::atomic<int> ended = 0;
        chatter others{context};
        std::exception_ptr error;
        others.say();
        async_run(guest, wait_as_guest(stage, others, ended), [&](std::exception_ptr why) {
            error = why;
            others.over = true;
        });
        context.run();
        CHECK_FALSE(error);
        CHECK(ended == 3 * 10);
    }
}

TEST_CASE("in every mode several loops wait for one device, each for its own") {
    for (const poll_mode mode : poll_modes) {
        CAPTURE(static_cast<int>(mode));
        threaded_stage stage(polled(mode));
        std::atomic<int> ended = 0;
        std::vector<std::thread> threads;
        for (int each = 0; each < 4; ++each)
            threads.emplace_back([&stage, &ended] {
                event_loop mine;
                run(mine, wait_on_all(stage, 2, 10, ended));
            });
        for (std::thread& each : threads) each.join();
        CHECK(ended == 4 * 2 * 10);
    }
}

TEST_CASE("in every mode a capture goes on in another thread while a hundred pieces of work are waited for") {
    for (const poll_mode mode : poll_modes) {
        CAPTURE(static_cast<int>(mode));
        threaded_stage stage(polled(mode));
        const gpu::stream captured = stage.stream();
        std::promise<void> begun, done;
        std::thread other([&] {
            const gpu::on_device here(stage.driver, stage.device().inner()->context());
            CUstreamCaptureMode usual = CU_STREAM_CAPTURE_MODE_GLOBAL;
            stage.driver.cuThreadExchangeStreamCaptureMode(&usual);
            CHECK(stage.machine.begin_capture(captured.handle(), CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
            begun.set_value();
            done.get_future().wait();
            CHECK(stage.machine.end_capture(captured.handle()) == CUDA_SUCCESS);
        });
        begun.get_future().wait();
        std::atomic<int> ended = 0;
        run(stage.loop, wait_on_all(stage, 4, 25, ended));
        CHECK(ended == 100);
        done.set_value();
        other.join();
    }
}

}  // namespace loops_test
