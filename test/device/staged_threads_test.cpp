// Ranks as they are in a program, some without a device: each with threads of its own; and a driver that takes its time.
#include "device/threads.hpp"
#include "gpu/stuck.hpp"

#include <atomic>
#include <string>

namespace staged_threads_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;
using test::rank_memory;

namespace {

gpu::group_options staged() {
    gpu::group_options how;
    how.engine = gpu::engine_kind::staged;
    how.chunk_bytes = 4096;
    return how;
}

task<> call_a_lot(device_rank& here, context&) {
    const std::optional<gpu::stream> stream = here.on_host() ? std::nullopt : std::optional(here.stream());
    gpu::call_options options;
    options.after = stream ? &*stream : nullptr;
    const int size = here.all.size();
    const auto parts_count = static_cast<std::size_t>(1500 * size);
    const rank_memory data = here.place_filled<std::int64_t>(1500, 1), parts = here.place_filled<std::int64_t>(parts_count, 0);
    const rank_memory theirs = here.place_filled<std::int64_t>(1500, 0);
    const auto fill = [&] { std::fill_n(&data.at<std::int64_t>(0), 1500, here.me + 1); };
    for (int round = 0; round < 10; ++round) {
        if (stream) here.kernel(*stream, 20us, fill);
        else fill();
        gpu::operation summed = here.all.all_reduce(data.all<std::int64_t>(), sum, options);
        { const gpu::operation dropped = here.all.barrier(); }
        gpu::operation gathered = here.all.all_gather(data.all<std::int64_t>(), parts.all<std::int64_t>());
        gpu::operation talked = here.all.exchange({gpu::send_to(parts.span(data_type::i64, 0, 1500), (here.me + 1) % size),
                                                   gpu::recv_from(theirs.all<std::int64_t>(), (here.me + size - 1) % size)});
        co_await std::move(talked);
        for (const rank_memory* each : {&data, &parts, &theirs})
            CHECK(each->at<std::int64_t>(each->bytes / sizeof(std::int64_t) - 1) == size * (size + 1) / 2);
        co_await std::move(gathered);
        co_await std::move(summed);
    }
}

}  // namespace

TEST_CASE("ranks with threads of their own, one without a device, get the same results as others") {
    gpu::sim::checked_machine machine(test::threaded_machine_of(3));
    test::run_threads(
        machine, 3, {}, staged(), [](rank me) { return me == 1 ? test::no_device : me; }, call_a_lot);
}

namespace {

/// A call of the driver's that does not return, on rank 0; and whether it takes an abort to come to it.
struct obstacle {
    const char* entry_point;
    bool at_the_end = false;
};

const obstacle obstacles[] = {{"cuMemcpyDtoHAsync"}, {"cuMemcpyHtoDAsync"}, {"cuEventSynchronize", true}};

task<> meet_obstacle(device_rank& here, context& home, const obstacle& what, std::size_t kept, std::atomic<int>& through) {
    const std::optional<gpu::stream> stream = here.on_host() ? std::nullopt : std::optional(here.stream());
    const rank_memory data = here.place_filled<float>(5000, 1.0f);
    auto met = here.world.barrier();
    co_await std::move(met);
    gpu::call_options options;
    options.deadline = 1s;  // the call is stuck before that
    options.after = stream ? &*stream : nullptr;
    if (stream) {
        here.machine.stick(what.entry_point);
        if (what.at_the_end) here.kernel(*stream, 5s);
    }
    gpu::operation summed = here.all.all_reduce(data.all<float>(), sum, options);
    const auto how = co_await as_result(std::move(summed).completed());
    REQUIRE_FALSE(how);
    CAPTURE(std::string(how.failure().what()));
    CHECK(how.failure().code() == error::timed_out);
    if (stream) {
        CHECK(std::string(how.failure().what()).find("could not abort the copies of device 0 within 0.5 s") != std::string::npos);
        CHECK(gpu::stuck::count() > kept);  // what it uses
        auto going_on = test::go_on_meanwhile(here, home, what.entry_point);
        co_await std::move(going_on);
    }
    auto letting_go = test::release_together(here, what.entry_point, through);
    co_await std::move(letting_go);
}

}  // namespace

TEST_CASE("whatever copy does not return, timers go on, and whoever waits is told in the end") {
    for (const obstacle& each : obstacles) {
        CAPTURE(each.entry_point);
        gpu::sim::checked_machine machine(test::threaded_machine_of(1));
        gpu::device_options card;
        card.stuck = 500ms;
        std::atomic<int> through{0};
        const std::size_t kept = gpu::stuck::count();
        test::run_threads(
            machine, 2, card, staged(), [](rank me) { return me == 0 ? 0 : test::no_device; },
            [&](device_rank& here, context& home) { return meet_obstacle(here, home, each, kept, through); });
        CHECK(gpu::stuck::count() == kept);
    }
}

}  // namespace staged_threads_test
