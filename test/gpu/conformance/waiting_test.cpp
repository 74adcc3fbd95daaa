// Waiting for a device with the library's streams and events, in every way of finding out, on whatever the tests run on.
#include "gpu/conformance/testbed.hpp"
#include "gpu/device_state.hpp"

#include <tutti/event_loop.hpp>
#include <tutti/scope.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;
using gpu::poll_mode;
using test::gate;
using test::testbed;

namespace {

constexpr poll_mode modes[] = {poll_mode::adaptive, poll_mode::spin, poll_mode::timer, poll_mode::host_function, poll_mode::thread};

gpu::device_options polled(poll_mode mode) {
    gpu::device_options options;
    options.polling = mode;
    return options;
}

task<> await_event(gpu::event which, bool& come) {
    co_await which;
    come = true;
}

/// The loop's timers go on; nothing has come.
task<> nothing_comes(const bool& come) {
    for (int times = 0; times < 10; ++times) {
        co_await sleep_for(500us);
        CHECK_FALSE(come);
    }
}

/// A driver calls one host function after the other, so while one holds up a stream no other is called.
task<> wait_behind_a_gate(const testbed& bed, gpu::device card, int rounds, bool others_are_heard_of) {
    const gpu::stream held = gpu::stream::make(card).value(), apart = gpu::stream::make(card).value();
    for (int round = 0; round < rounds; ++round) {
        bool come = false;
        scope nursery;
        gate closed(bed, held);
        nursery.start(await_event(held.record().value(), come));
        co_await nothing_comes(come);
        if (others_are_heard_of) co_await apart.completed();
        CHECK_FALSE(come);
        closed.open();
        co_await nursery.join();
        CHECK(come);
    }
}

}  // namespace

TEST_CASE("an awaited event comes when the device has come there, not sooner, in every way of finding out") {
    for (const poll_mode mode : modes) {
        CAPTURE(static_cast<int>(mode));
        testbed bed;
        event_loop loop;
        run(loop, wait_behind_a_gate(bed, bed.open(polled(mode)), 5, true));
    }
}

TEST_CASE("the driver's call wakes a poller that would not look again") {
    for (const poll_mode mode : {poll_mode::host_function, poll_mode::adaptive}) {
        CAPTURE(static_cast<int>(mode));
        gpu::device_options options = polled(mode);
        options.hot = 0us;
        options.cold = 1us;
        options.watchdog = 1h;
        testbed bed;
        event_loop loop;
        run(loop, wait_behind_a_gate(bed, bed.open(options), 3, false));
    }
}

namespace {

/// One after the other, all awaited.
task<> wait_often(gpu::stream on, int times, int& ended) {
    for (int i = 0; i < times; ++i) {
        const gpu::event done = on.record().value();
        co_await done;
        CHECK(done.ready().value());
        ++ended;
    }
}

task<> side_by_side(gpu::device card, int streams, int times, int& ended) {
    scope nursery;
    for (int each = 0; each < streams; ++each) nursery.start(wait_often(gpu::stream::make(card).value(), times, ended));
    co_await nursery.join();
}

}  // namespace

TEST_CASE("many events of several streams all come, in every way of finding out") {
    for (const poll_mode mode : modes) {
        CAPTURE(static_cast<int>(mode));
        testbed bed;
        event_loop loop;
        int ended = 0;
        run(loop, side_by_side(bed.open(polled(mode)), 4, 50, ended));
        CHECK(ended == 200);
    }
}

namespace {

task<> order_streams(const testbed& bed, gpu::device card) {
    const gpu::stream first = gpu::stream::make(card).value(), second = gpu::stream::make(card, gpu::stream_priority::high).value();
    gate closed(bed, first);
    CHECK(second.wait(first.record().value()));
    bool come = false;
    scope nursery;
    nursery.start(await_event(second.record().value(), come));
    co_await nothing_comes(come);
    closed.open();
    co_await nursery.join();
}

}  // namespace

TEST_CASE("a stream that was made to wait for an event of another comes after it") {
    testbed bed;
    event_loop loop;
    run(loop, order_streams(bed, bed.open()));
}

namespace {

task<> give_up(const testbed& bed, gpu::device card) {
    const gpu::stream stream = gpu::stream::make(card).value();
    gate closed(bed, stream);
    auto kept = std::make_shared<int>(1), kept_too = std::make_shared<int>(2);
    const std::weak_ptr<int> watched = kept, watched_too = kept_too;
    { const future<> dropped = stream.completed(std::move(kept)); }
    future<> cancelled = stream.completed(std::move(kept_too));
    cancelled.cancel();
    const auto how = co_await as_result(std::move(cancelled));
    REQUIRE_FALSE(how);
    CHECK(how.failure().code() == error::cancelled);
    for (int times = 0; times < 5; ++times) co_await sleep_for(500us);
    CHECK_FALSE(watched.expired());  // the device may still be at it
    CHECK_FALSE(watched_too.expired());
    closed.open();
    while (!watched.expired() || !watched_too.expired()) co_await sleep_for(500us);
}

}  // namespace

TEST_CASE("what keeps a buffer alive is held until the device is through, though nobody waits any more") {
    testbed bed;
    event_loop loop;
    run(loop, give_up(bed, bed.open()));
}

TEST_CASE("a thread without a loop waits, blocks, and asks") {
    testbed bed;
    const gpu::device card = bed.open();
    const gpu::stream stream = gpu::stream::make(card).value();
    gate closed(bed, stream);
    const gpu::event behind = stream.record().value();
    CHECK_FALSE(behind.ready().value());
    std::thread opener([&] { closed.open(); });
    stream.completed().get();
    CHECK(behind.ready().value());
    opener.join();
    CHECK(behind.synchronize());
    CHECK(stream.synchronize());
}

namespace {

task<> block_on_a_loop(gpu::device card) {
    const gpu::stream stream = gpu::stream::make(card).value();
    const auto refused = stream.synchronize();
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code() == error::invalid_argument);
    co_await stream.completed();
}

/// A thread that captures a stream as long as this lives, in the mode that hinders most.
class capturing_thread {
public:
    capturing_thread(const testbed& bed, const gpu::stream& which) : thread_([this, &bed, which] { capture(bed, which); }) {
        begun_.wait(false);
    }
    ~capturing_thread() {
        enough_ = true;
        enough_.notify_all();
        thread_.join();
    }

private:
    void capture(const testbed& bed, const gpu::stream& which) {
        CHECK(bed.cuda().cuCtxSetCurrent(which.on().inner()->context()) == CUDA_SUCCESS);
        CHECK(bed.begin_capture(which.handle(), CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
        begun_ = true;
        begun_.notify_all();
        enough_.wait(false);
        CHECK(bed.end_capture(which.handle()) == CUDA_SUCCESS);
    }

    std::atomic<bool> begun_ = false, enough_ = false;
    std::thread thread_;
};

task<> wait_while_others_capture(const testbed& bed, gpu::device card) {
    const gpu::stream held = gpu::stream::make(card).value(), captured = gpu::stream::make(card).value();
    bool come = false;
    scope nursery;
    gate closed(bed, held);
    const capturing_thread meanwhile(bed, captured);
    nursery.start(await_event(held.record().value(), come));
    co_await nothing_comes(come);
    const auto refused = captured.record();
    CHECK_FALSE(refused);
    if (!refused) CHECK(refused.failure().code() == error::unsupported);
    closed.open();
    co_await nursery.join();
    CHECK(come);
}

}  // namespace

TEST_CASE("a loop is not blocked: synchronizing on its thread is refused") {
    testbed bed;
    event_loop loop;
    run(loop, block_on_a_loop(bed.open()));
}

TEST_CASE("events are waited for while a stream is captured in global mode, and the capture is not broken") {
    for (const poll_mode mode : modes) {
        CAPTURE(static_cast<int>(mode));
        testbed bed;
        event_loop loop;
        run(loop, wait_while_others_capture(bed, bed.open(polled(mode))));
    }
}
