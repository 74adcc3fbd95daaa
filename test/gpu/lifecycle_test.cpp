#include "gpu/lifecycle.hpp"

#include "stage.hpp"

#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/pinned_buffer.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>
#include <tutti/when_all.hpp>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace lifecycle_test {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

/// A call that returns when it is told to.
class gate {
public:
    result<> enter() {
        entered_.set_value();
        open_.get_future().wait();
        return {};
    }
    void await_entry() { entered_.get_future().wait(); }
    void open() { open_.set_value(); }

private:
    std::promise<void> entered_, open_;
};

task<error> code_of(future<> what) {
    const auto ended = co_await as_result(what);
    co_return ended ? error{} : static_cast<error>(ended.failure().code().value());
}

}  // namespace

TEST_CASE("calls are made one after the other, on one thread, which is not the caller's") {
    const auto place = std::make_shared<gpu::lifecycle>(nullptr, 10s, "a test");
    std::vector<int> order;
    std::vector<std::thread::id> threads;
    for (int i = 0; i < 100; ++i)
        place->later("a call", [&, i] {
            order.push_back(i);
            threads.push_back(std::this_thread::get_id());
        });
    auto end = place->run("the last call", [] { return result<>(failure(error::device_failed, "it says no")); });
    CHECK_THROWS_WITH(end.get(), "it says no");
    CHECK(order.size() == 100);
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(std::count(threads.begin(), threads.end(), threads.front()) == 100);
    CHECK(threads.front() != std::this_thread::get_id());
    CHECK(place->finish([] {}));
}

TEST_CASE("a call that does not return is told after its time, and what follows it is not made") {
    const auto place = std::make_shared<gpu::lifecycle>(nullptr, 1s, "device 7");
    gate stuck;
    auto first = place->run("cuStreamDestroy", [&stuck] { return stuck.enter(); });
    stuck.await_entry();
    bool made = false;
    auto second = place->run("cuMemFree", [&made] {
        made = true;
        return result<>();
    });
    CHECK_FALSE(place->finish([] {}));  // waits as long as one call may take
    REQUIRE(place->stuck());
    CHECK(place->stuck()->code() == error::timed_out);
    CHECK(std::string(place->stuck()->what()).find("device 7: cuStreamDestroy has not returned for ") == 0);
    std::string told;
    try {
        second.get();
    } catch (const failure& why) {
        told = why.what();
    }
    const bool by_who_finishes = told == "device 7: cuStreamDestroy does not return";  // or by who watches, if that was first
    CHECK((by_who_finishes || told.starts_with("device 7: cuStreamDestroy has not returned for ")));
    CHECK_THROWS_WITH(place->run("cuMemFree", [] { return result<>(); }).get(),
                      doctest::Contains("device 7: cuStreamDestroy has not returned"));
    CHECK_FALSE(made);
    CHECK_FALSE(first.ready());
    stuck.open();
    first.get();
    CHECK_FALSE(made);
}

TEST_CASE("who waits behind a call that does not return is told after its time, and what nobody waits for is done when it does") {
    const auto place = std::make_shared<gpu::lifecycle>(nullptr, 1s, "device 7");
    gate stuck;
    auto first = place->run("cuStreamDestroy", [&stuck] { return stuck.enter(); });
    stuck.await_entry();
    bool made = false;
    auto second = place->run("cuMemHostAlloc", [&made] {
        made = true;
        return result<>();
    });
    std::promise<void> freed;
    place->later("cuMemFree", [&freed] { freed.set_value(); });
    CHECK_THROWS_WITH(second.get(), doctest::Contains("device 7: cuStreamDestroy has not returned"));
    stuck.open();
    first.get();
    freed.get_future().wait();
    CHECK_FALSE(made);
    CHECK(place->finish([] {}));
}

TEST_CASE("what is made beside the others does not wait for them") {
    const auto place = std::make_shared<gpu::lifecycle>(nullptr, 10s, "a test");
    gate waits;
    auto first = place->run("cuMemFree", [&waits] { return waits.enter(); });
    waits.await_entry();
    place->beside("ncclCommAbort", [&waits] { waits.open(); });
    first.get();
    CHECK(place->finish([] {}));
}

TEST_CASE("who waits for a call may stop waiting, by a deadline; the call goes on") {
    const auto place = std::make_shared<gpu::lifecycle>(nullptr, 10s, "a test");
    event_loop loop;
    gate slow;
    const auto with_limit = [](future<> what) -> task<error> {
        try {
            co_await with_deadline(std::move(what), 5ms);
        } catch (const failure& why) {
            co_return static_cast<error>(why.code().value());
        }
        co_return error{};
    };
    bool returned = false;
    CHECK(run(loop, with_limit(place->run("a slow call", [&] {
                  auto end = slow.enter();
                  returned = true;
                  return end;
              }))) == error::timed_out);
    slow.open();
    CHECK(place->finish([] {}));
    CHECK(returned);
}

TEST_CASE("given a loop it works there, in virtual time, and is closed at once") {
    event_loop loop(event_loop::virtual_time);
    const auto place = std::make_shared<gpu::lifecycle>(&loop, 10s, "a test");
    int made = 0;
    CHECK(run(loop, code_of(place->run("a call", [&made] {
                  ++made;
                  return result<>();
              }))) == error{});
    place->later("another", [&made] { ++made; });
    CHECK(made == 1);
    CHECK(place->finish([&made] { made *= 10; }));
    CHECK(made == 20);
    CHECK(run(loop, code_of(place->run("too late", [] { return result<>(); }))) == error::closed);
}

TEST_CASE("a device whose driver does not return from freeing does not hold up the loop, nor its last handle for ever") {
    gpu::device_options options;
    options.stuck = 50ms;
    gpu::sim::machine machine(threaded_machine());
    const auto driver = machine.driver();
    std::optional<gpu::device> device = gpu::open_device(driver, 0, options).value();
    machine.stick("cuMemFree");
    const auto free_and_go_on = [](const gpu::device& where) -> task<int> {
        { const auto memory = gpu::device_buffer<int>::allocate(where, 10).value(); }
        int turns = 0;
        for (event_loop& loop = co_await this_loop; turns < 1000; ++turns) {
            CHECK(loop.here());
            co_await yield();
        }
        co_return turns;
    };
    event_loop loop;
    CHECK(run(loop, free_and_go_on(*device)) == 1000);
    while (machine.stuck("cuMemFree") == 0) std::this_thread::yield();
    const auto place = device->inner()->lifecycle().shared_from_this();
    device.reset();  // returns, though the call does not
    CHECK(machine.stuck("cuMemFree") == 1);
    REQUIRE(place->stuck());
    machine.release("cuMemFree");
    while (place->stuck()) std::this_thread::yield();
    machine.end();  // the device is leaked, as it was said
}

namespace {

/// Things of a device that one lets go of on a loop.
struct belongings {
    std::optional<gpu::device> card;
    std::optional<gpu::device_buffer<int>> memory;
    std::optional<gpu::pinned_buffer<int>> pinned;
    std::optional<gpu::stream> stream;
};

struct slow_call {
    const char* entry_point;
    std::function<void(belongings&)> act;
};

const slow_call slow_calls[] = {
    {"cuMemFree", [](auto& mine) { mine.memory.reset(); }},
    {"cuMemFreeHost", [](auto& mine) { mine.pinned.reset(); }},
    {"cuStreamDestroy", [](auto& mine) { mine.stream.reset(); }},
    {"cuStreamSynchronize",
     [](auto& mine) {
         gpu::sim::machine::current()->fail("cuEventRecord", CUDA_ERROR_INVALID_VALUE);  // so it is kept until the stream is idle
         auto refused = mine.stream->completed(std::make_shared<int>(1));
         CHECK(refused.ready());
     }},
    {"cuEventDestroy", [](auto& mine) { mine = belongings(); }},
    {"cuEventQuery", [](auto& mine) { const auto dropped = mine.stream->completed(); }},
    {"cuDevicePrimaryCtxRelease", [](auto& mine) { mine = belongings(); }},
};

/// By the machine's clock, which a slow call on this thread moves; that of the loop would stand.
task<duration> worst_lateness(const gpu::sim::machine& machine, belongings& mine, const slow_call& what) {
    duration worst{};
    for (int tick = 0; tick < 100; ++tick) {
        const time_point due = machine.now() + 1ms;
        if (tick == 10) what.act(mine);
        co_await sleep_for(1ms);
        worst = std::max<duration>(worst, machine.now() - due);
    }
    co_return worst;
}

}  // namespace

TEST_CASE("whichever call of the driver's takes long, the timers of the loop that caused it are less than 10 ms late") {
    for (const slow_call& each : slow_calls) {
        CAPTURE(each.entry_point);
        event_loop loop(event_loop::virtual_time);
        gpu::sim::checked_machine machine;
        const gpu::driver_table driver = machine.driver();
        machine.drive(loop);
        belongings mine;
        gpu::device_options options;
        options.polling = gpu::poll_mode::thread;                  // for programs that hold up the driver's questions
        mine.card = gpu::open_device(driver, 0, options).value();  // with threads of its own
        mine.memory = gpu::device_buffer<int>::allocate(*mine.card, 10).value();
        mine.pinned = gpu::pinned_buffer<int>::allocate(*mine.card, 10).value();
        mine.stream = gpu::stream::make(*mine.card).value();
        const std::weak_ptr<gpu::lifecycle> place = mine.card->inner()->lifecycle().weak_from_this();
        machine.slow(each.entry_point, 1s);
        CHECK(run(loop, worst_lateness(machine, mine, each)) < 10ms);
        mine = belongings();
        while (!place.expired())
            if (!machine.step()) std::this_thread::yield();
        CHECK(machine.calls(each.entry_point) > 0);
        CHECK(machine.own_calls(each.entry_point) == 0);
    }
}

}  // namespace lifecycle_test
