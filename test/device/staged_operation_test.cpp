// Operations that go through the host, from their calls to their ends: order, overlap, three ways to wait, messages, and what is kept.
#include "device/ranks.hpp"
#include "device/silence.hpp"
#include "support/allocations.hpp"
#include "support/seeds.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>

#include <algorithm>
#include <string>

namespace staged_operation_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;
using test::device_stage;
using test::no_device;
using test::rank_memory;

namespace {

/// On a rank with a device: a kernel that takes so long, and what it does.
void compute(device_rank& here, const gpu::stream* on, duration length, std::function<void()> body) {
    if (on) here.kernel(*on, length, std::move(body));
    else body();
}

std::optional<gpu::stream> stream_of(device_rank& here) { return here.on_host() ? std::nullopt : std::optional(here.stream()); }

task<> wait_in_three_ways(device_rank& here) {
    event_loop& loop = co_await this_loop;
    const auto mine = stream_of(here), other = stream_of(here);
    const rank_memory data = here.place_filled<float>(5000, 0.0f);
    const auto size = static_cast<float>(here.all.size());
    const time_point begin = loop.now();
    compute(here, mine ? &*mine : nullptr, 10ms, [&data] { std::fill_n(&data.at<float>(0), 5000, 1.0f); });
    gpu::call_options options;
    options.after = mine ? &*mine : nullptr;
    gpu::operation summed = here.all.all_reduce(data.all<float>(), sum, options);
    future<> enqueued = summed.enqueued();
    co_await std::move(enqueued);
    CHECK(loop.now() - begin >= 10ms);  // a chunk's way back begins when all ranks' parts are there
    float seen = 0;
    if (other) {
        future<> ordered = summed.wait_on(*other);
        co_await std::move(ordered);
        here.kernel(*other, 1us, [&] { seen = data.at<float>(4999); });
        future<> read = other->completed();
        co_await std::move(read);
        CHECK(seen == size);
    }
    co_await std::move(summed);
    CHECK(data.at<float>(0) == size);
    CHECK(data.at<float>(4999) == size);
}

}  // namespace

TEST_CASE("an operation through the host is enqueued, ordered and completed, behind the caller's stream") {
    device_stage stage(3);
    test::mix(stage);
    stage.run(wait_in_three_ways);
}

namespace {

/// Each call needs what the one before has written; the host does not wait in between.
task<> depend(device_rank& here) {
    const std::size_t count = 1300, size = static_cast<std::size_t>(here.all.size());
    const auto ranks = static_cast<std::int64_t>(size);
    const rank_memory data = here.place_filled<std::int64_t>(count, here.me + 1);
    const rank_memory parts = here.place_filled<std::int64_t>(count * size, 0);
    const rank_memory swapped = here.place_filled<std::int64_t>(count * size, 0), back = here.place_filled<std::int64_t>(count, 0);
    std::vector<gpu::operation> all;
    all.push_back(here.all.all_reduce(data.all<std::int64_t>(), sum));
    all.push_back(here.all.all_gather(data.all<std::int64_t>(), parts.all<std::int64_t>()));
    all.push_back(here.all.all_to_all(parts.all<std::int64_t>(), swapped.all<std::int64_t>()));
    all.push_back(here.all.reduce_scatter(swapped.all<std::int64_t>(), back.all<std::int64_t>(), sum));
    all.push_back(here.all.all_reduce({back.all<std::int64_t>().part(0, 700), back.all<std::int64_t>().part(700, 600)}, max));
    all.push_back(here.all.exchange({gpu::send_to(back.all<std::int64_t>(), (here.me + 1) % here.all.size()),
                                     gpu::recv_from(data.all<std::int64_t>(), (here.me + here.all.size() - 1) % here.all.size())}));
    all.push_back(here.all.broadcast(data.all<std::int64_t>(), 1));
    all.push_back(here.all.reduce(data.all<std::int64_t>(), sum, 0));
    all.push_back(here.all.scatter(parts.all<std::int64_t>(), back.all<std::int64_t>(), 0));
    for (gpu::operation& each : all) co_await std::move(each);
    const std::int64_t once = ranks * (ranks + 1) / 2;
    for (const std::size_t index : {std::size_t{0}, std::size_t{511}, std::size_t{512}, count - 1}) {
        CHECK(parts.at<std::int64_t>(index) == once);
        CHECK(swapped.at<std::int64_t>(index + count * (size - 1)) == once);
        CHECK(data.at<std::int64_t>(index) == once * ranks * (here.me == 0 ? ranks : 1));
        CHECK(back.at<std::int64_t>(index) == once);
    }
}

}  // namespace

TEST_CASE("operations see what those before them have written, in the order of their calls") {
    for (std::uint64_t seed = 1; seed <= test::seeds(5); ++seed) {
        CAPTURE(seed);
        gpu::sim::options how;
        how.seed = seed;
        how.jitter = 50us;
        simulated_network network(seed, {});
        device_stage stage(3, how);
        test::mix(stage);
        if (seed % 2 == 0) stage.device_of = [](rank me) { return me; };
        stage.group.engine = gpu::engine_kind::staged;
        stage.make_transport = [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); };
        stage.run(depend);
    }
}

namespace {

constexpr std::size_t some_chunks = 16;

task<> reduce_chunks(device_rank& here, duration& took) {
    event_loop& loop = co_await this_loop;
    const rank_memory data =
        here.place_filled<float>(some_chunks * static_cast<std::size_t>(here.all.size()) * 64 * KiB / sizeof(float) / 2, 1.0f);
    const time_point begin = loop.now();
    gpu::operation summed = here.all.all_reduce(data.all<float>(), sum);
    co_await std::move(summed);
    took = loop.now() - begin;
}

}  // namespace

TEST_CASE("copies from the device, the hosts' links and copies to it work at the same time on neighbouring chunks") {
    gpu::sim::options how;
    how.copy = {8us, 1.0};  // 65 us a chunk
    line_options line;
    line.bytes_per_second = 1e9;  // about as long
    simulated_network network(3, line);
    device_stage stage(2, how);
    stage.group.engine = gpu::engine_kind::staged;
    stage.group.chunk_bytes = 64 * KiB;
    stage.make_transport = [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); };
    duration took{};
    stage.run([&took](device_rank& here) { return reduce_chunks(here, took); });

    const auto of_rank_0 = [&stage](const std::string& name) {
        auto found = stage.machine.trace().named(name);
        std::erase_if(found, [](const gpu::sim::interval& each) { return each.device != 0; });
        return found;
    };
    const auto out = of_rank_0("device to host"), in = of_rank_0("host to device");
    REQUIRE(out.size() == some_chunks);
    REQUIRE(in.size() == some_chunks);
    for (std::size_t chunk = 1; chunk + 3 < some_chunks; ++chunk) {
        CAPTURE(chunk);
        gpu::sim::interval on_host;  // between its copies
        on_host.started = out[chunk].ended;
        on_host.ended = in[chunk].started;
        CHECK(std::any_of(out.begin() + static_cast<std::ptrdiff_t>(chunk) + 1, out.end(),
                          [&](const auto& next) { return intersect(next, on_host); }));
        CHECK(std::any_of(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(chunk),
                          [&](const auto& last) { return intersect(last, on_host); }));
    }
    // One after the other they would take three times the copies, and more.
    const duration copies = how.copy.of(64 * KiB) * static_cast<int>(some_chunks);
    CHECK(took < 2 * copies);
}

TEST_CASE("where the hosts' links are slow no more chunks are under way than have slots") {
    line_options line;
    line.bytes_per_second = 1e8;  // 650 us a chunk, of which a copy takes 10
    simulated_network network(3, line);
    for (const int window : {2, 4, 7}) {
        CAPTURE(window);
        device_stage stage(2);
        stage.group.engine = gpu::engine_kind::staged;
        stage.group.chunk_bytes = 64 * KiB;
        stage.group.window = window;
        stage.make_transport = [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); };
        duration took{};
        stage.run([&took](device_rank& here) { return reduce_chunks(here, took); });
        auto out = stage.machine.trace().named("device to host"), in = stage.machine.trace().named("host to device");
        for (auto* const copies : {&out, &in}) std::erase_if(*copies, [](const gpu::sim::interval& each) { return each.device != 0; });
        REQUIRE(out.size() == some_chunks);
        REQUIRE(in.size() == some_chunks);
        const auto slots = static_cast<std::size_t>(window);
        for (std::size_t chunk = 0; chunk + slots < some_chunks; ++chunk) {
            CAPTURE(chunk);
            CHECK(out[chunk + slots].started >= in[chunk].ended);
            CHECK(out[chunk + slots - 1].started < in[chunk].started);
        }
        CHECK(stage.machine.calls("cuMemHostAlloc") == 2);
    }
}

namespace {

task<> come_back_early(device_rank& here) {
    event_loop& loop = co_await this_loop;
    const gpu::stream stream = here.stream();
    const rank_memory first = here.place_filled<float>(5000, 1.0f), second = here.place_filled<float>(5000, 1.0f);
    const time_point begin = loop.now();
    here.kernel(stream, 1ms);
    gpu::operation early = here.all.all_reduce(first.all<float>(), sum, {.after = &stream});
    here.kernel(stream, 50ms);
    gpu::operation late = here.all.all_reduce(second.all<float>(), sum, {.after = &stream});
    gpu::operation later = here.all.broadcast(second.all<float>(), 0, {.after = &stream});
    co_await std::move(early);
    CHECK(loop.now() - begin < 10ms);
    co_await std::move(late);
    CHECK(loop.now() - begin >= 51ms);
    co_await std::move(later);
}

}  // namespace

TEST_CASE("an operation whose stream is ahead is not held up by those behind it, and the host waits for nobody") {
    device_stage stage(2);
    stage.group.engine = gpu::engine_kind::staged;
    stage.group.chunk_bytes = 4096;
    stage.run(come_back_early);
    for (const gpu::sim::host_wait& each : stage.machine.trace().waits) {
        CAPTURE(each.call);
        CHECK((each.call == "cuMemFree" || each.call == "cuMemFreeHost"));
    }
}

namespace {

task<> meet(device_rank& here) {
    event_loop& loop = co_await this_loop;
    const auto stream = stream_of(here);
    gpu::call_options options;
    options.after = stream ? &*stream : nullptr;
    const time_point begin = loop.now();
    if (stream) here.kernel(*stream, here.me == 2 ? 30ms : 1ms);
    auto met = here.all.barrier(options);
    co_await std::move(met);
    CHECK(loop.now() - begin >= 30ms);
    if (stream) here.kernel(*stream, 5ms);
    const time_point then = loop.now();
    auto nothing = here.all.all_reduce(here.place(0).all<float>(), sum, options);
    co_await std::move(nothing);
    if (stream) CHECK(loop.now() - then >= 5ms);
}

}  // namespace

TEST_CASE("a barrier through the host waits for the streams of all ranks, and a call without elements for its own") {
    device_stage stage(3);
    test::mix(stage);
    stage.run(meet);
}

namespace {

task<> drop_and_keep(device_rank& here) {
    auto owner = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = owner;
    {
        const rank_memory data = here.place_filled<float>(5000, 1.0f);
        const auto stream = stream_of(here);
        if (stream) here.kernel(*stream, 20ms);
        gpu::call_options options;
        options.after = stream ? &*stream : nullptr;
        const gpu::keep_alive kept = std::move(owner);
        options.keep = &kept;
        const gpu::operation dropped = here.all.all_reduce(data.all<float>(), sum, options);
        gpu::operation cancelled = here.all.all_reduce(data.all<float>(), max);
        future<> given_up = std::move(cancelled).completed();
        given_up.cancel();
        const auto how = co_await as_result(std::move(given_up));
        REQUIRE_FALSE(how);
        CHECK(how.failure().code() == error::cancelled);
    }
    co_await sleep_for(10ms);
    CHECK_FALSE(watched.expired());
    co_await sleep_for(20ms);
    CHECK(watched.expired());
    auto last = here.all.barrier();
    co_await std::move(last);
}

}  // namespace

TEST_CASE("an operation through the host that nobody waits for goes on, and holds what it was given") {
    device_stage stage(3);
    test::mix(stage);
    stage.run(drop_and_keep);
}

namespace {

task<> call_once(device_rank& here, const rank_memory& data, const gpu::stream& compute) {
    const gpu::device_span list[] = {data.span(data_type::f32, 0, 10), data.span(data_type::f32, 20, 10)};
    gpu::operation first = here.all.all_reduce(data.all<float>(), sum, {.after = &compute});
    gpu::operation second = here.all.all_reduce(list, sum);
    future<> enqueued = first.enqueued();
    co_await std::move(enqueued);
    co_await std::move(first);
    co_await std::move(second);
}

task<> count_allocations(device_rank& here, device_stage& stage, std::size_t& counted) {
    const gpu::stream compute = here.stream();
    const rank_memory data = here.place_filled<float>(5000, 1.0f);
    auto counting = test::count_allocations(stage, [&](int) { return call_once(here, data, compute); });
    counted = co_await std::move(counting);
}

}  // namespace

TEST_CASE("after some first ones an operation through the host allocates nothing" * doctest::skip(!test::counts_allocations)) {
    device_stage stage(1);
    stage.group.engine = gpu::engine_kind::staged;
    stage.group.chunk_bytes = 4096;
    std::size_t counted = 1;
    stage.run([&](device_rank& here) { return count_allocations(here, stage, counted); });
    CHECK(counted == 0);
}

}  // namespace staged_operation_test
