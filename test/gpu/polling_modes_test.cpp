// Every way to learn that an event has come passes the same tests.
#include "gpu/poller.hpp"

#include "gpu/arrival.hpp"
#include "poll_modes.hpp"
#include "stage.hpp"
#include "support/running_loop.hpp"
#include "support/seeds.hpp"

#include <tutti/scope.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <random>
#include <vector>

namespace polling_modes_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;
using gpu::poll_mode;

namespace {

task<> work_and_wait(stepped_stage& stage, gpu::stream on, std::vector<duration> lengths, int& ended) {
    event_loop& loop = co_await this_loop;
    for (const duration each : lengths) {
        const time_point due = loop.now() + each;
        stage.kernel(on, each);
        co_await on.completed();
        CHECK(loop.now() >= due);
        ++ended;
    }
}

task<> all_at_once(stepped_stage& stage, const std::vector<gpu::stream>& streams, std::uint32_t seed, int& ended) {
    std::mt19937 random(seed);
    scope nursery;
    for (const gpu::stream& each : streams) {
        std::vector<duration> lengths;
        for (int i = 0; i < 20; ++i) lengths.emplace_back(std::chrono::microseconds(random() % 20'000));
        nursery.start(work_and_wait(stage, each, std::move(lengths), ended));
    }
    co_await nursery.join();
}

task<duration> lateness(stepped_stage& stage, gpu::stream on, duration length) {
    event_loop& loop = co_await this_loop;
    const time_point due = loop.now() + length;
    stage.kernel(on, length);
    co_await on.completed();
    co_return loop.now() - due;
}

task<> in_real_time(threaded_stage& stage, gpu::stream on, std::uint32_t seed, int& ended) {
    std::mt19937 random(seed);
    for (int i = 0; i < 30; ++i) {
        bool ran = false;
        stage.kernel(on, std::chrono::microseconds(random() % 3'000), [&ran] { ran = true; });
        co_await on.completed();
        CHECK(ran);
        ++ended;
    }
}

task<> side_by_side(threaded_stage& stage, const std::vector<gpu::stream>& streams, std::uint32_t seed, int& ended) {
    scope nursery;
    for (const gpu::stream& each : streams) nursery.start(in_real_time(stage, each, seed++, ended));
    co_await nursery.join();
}

task<> fail_all(stepped_stage& stage, gpu::stream on, int& failed) {
    const auto wait = [](gpu::stream which, int& count) -> task<> {
        try {
            co_await which.completed();
        } catch (const failure& why) {
            CHECK(why.code() == error::device_failed);
            ++count;
        }
    };
    scope nursery;
    stage.kernel(on, 1h);
    for (int i = 0; i < 10; ++i) nursery.start(wait(on, failed));
    co_await sleep_for(30ms);
    stage.machine.fault(0);
    co_await nursery.join();
}

}  // namespace

TEST_CASE("in every mode work of all lengths on several streams is waited for, whatever the order") {
    for (const poll_mode mode : poll_modes)
        for (std::uint32_t seed = 1; seed <= seeds(20); ++seed) {
            CAPTURE(static_cast<int>(mode));
            CAPTURE(seed);
            gpu::sim::options how;
            how.seed = seed;
            how.jitter = 5us;
            stepped_stage stage(polled(mode), how);
            const std::vector streams{stage.stream(), stage.stream(), stage.stream(), stage.stream(), stage.stream(), stage.stream()};
            int ended = 0;
            run(stage.loop, all_at_once(stage, streams, seed, ended));
            CHECK(ended == 6 * 20);
            const std::size_t asked = stage.queries();
            stage.loop.run();
            CHECK(stage.queries() == asked);
        }
}

TEST_CASE("in every mode a fault ends all that is pending") {
    for (const poll_mode mode : poll_modes) {
        CAPTURE(static_cast<int>(mode));
        stepped_stage stage(polled(mode));
        int failed = 0;
        run(stage.loop, fail_all(stage, stage.stream(), failed));
        CHECK(failed == 10);
    }
}

TEST_CASE("in every mode work is waited for in real time, with threads, also by a loop that would help another one") {
    for (const poll_mode mode : poll_modes)
        for (const bool helps : {false, true}) {
            CAPTURE(static_cast<int>(mode));
            CAPTURE(helps);
            running_loop other;
            threaded_stage stage(polled(mode));
            if (helps) stage.loop.help(&other.loop);
            const std::vector streams{stage.stream(), stage.stream(), stage.stream()};
            int ended = 0;
            run(stage.loop, side_by_side(stage, streams, 1, ended));
            CHECK(ended == 3 * 30);
            stage.loop.help(nullptr);
        }
}

TEST_CASE("in every mode a plain thread waits without a loop") {
    for (const poll_mode mode : poll_modes) {
        CAPTURE(static_cast<int>(mode));
        threaded_stage stage(polled(mode));
        const auto on = stage.stream();
        bool ran = false;
        stage.kernel(on, 2ms, [&ran] { ran = true; });
        on.completed().get();
        CHECK(ran);
    }
}

TEST_CASE("how late each mode is, in virtual time") {
    struct row {
        poll_mode mode;
        duration length, at_most;
    };
    constexpr row rows[] = {
        {poll_mode::adaptive, 100us, 50us},   {poll_mode::adaptive, 2ms, 1ms},        {poll_mode::adaptive, 3s, 10us},
        {poll_mode::spin, 3ms, 1us},          {poll_mode::timer, 300ms, 1ms},         {poll_mode::timer, 60us, 100us},
        {poll_mode::host_function, 1s, 10us}, {poll_mode::host_function, 60us, 10us},
    };
    for (const row& each : rows) {
        CAPTURE(static_cast<int>(each.mode));
        CAPTURE(each.length.count());
        stepped_stage stage(polled(each.mode));
        CHECK(run(stage.loop, lateness(stage, stage.stream(), each.length)) <= each.at_most);
    }
}

TEST_CASE("work that takes long costs few questions once it is cold, and a call that never comes is made up for") {
    for (const bool called : {true, false}) {
        CAPTURE(called);
        stepped_stage stage;
        if (!called) stage.machine.never_call_host_functions();
        const auto on = stage.stream();
        const duration late = run(stage.loop, lateness(stage, on, 2s));
        CHECK(late <= (called ? 10us : 10ms));
        CHECK(stage.queries() <= 2s / 10ms + 30);
        CHECK(stage.machine.calls("cuLaunchHostFunc") == 1);
        if (!called) stage.machine.take_misuse();
    }
}

TEST_CASE("work that comes while the loop sleeps until it is called for other work is called for, too") {
    stepped_stage stage(polled(poll_mode::host_function));
    const auto both = [](stepped_stage& here, gpu::stream first, gpu::stream second) -> task<duration> {
        here.kernel(first, 1s);
        auto pending = first.completed();
        co_await sleep_for(3ms);
        auto waiting = lateness(here, second, 1ms);
        const duration late = co_await std::move(waiting);
        co_await std::move(pending);
        co_return late;
    };
    CHECK(run(stage.loop, both(stage, stage.stream(), stage.stream())) <= 10us);
}

TEST_CASE("work of a known kind, or of a stream that always takes as long, is looked for when it is expected") {
    for (const std::uint32_t kind : {0U, gpu::kind_of(9, 1000)}) {
        CAPTURE(kind);
        stepped_stage stage;
        const auto on = stage.stream();
        const auto repeat = [](stepped_stage& here, gpu::stream where, std::uint32_t of, int times, duration& last) -> task<> {
            event_loop& loop = co_await this_loop;
            for (int i = 0; i < times; ++i) {
                const time_point due = loop.now() + 3ms;
                here.kernel(where, 3ms);
                co_await gpu::arrival::of(where.record().value(), {}, of);
                last = loop.now() - due;
            }
        };
        duration first{}, later{};
        run(stage.loop, repeat(stage, on, kind, 1, first));
        run(stage.loop, repeat(stage, on, kind, 20, later));
        CHECK(first > 50us);
        CHECK(later <= 50us);
    }
}

}  // namespace polling_modes_test
