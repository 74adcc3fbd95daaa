// A failure on one rank ends everything that is pending on all of them, with one code. A call that cannot be right is refused in words.
#include "device/ranks.hpp"
#include "support/failures.hpp"
#include "transport/simulated_transport.hpp"

#include <tutti/sleep.hpp>

#include <cstdlib>
#include <functional>
#include <string>

namespace failure_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;
using test::device_stage;

namespace {

/// Every way to wait, for two operations; what each rank was told.
task<> wait_for_the_worst(device_rank& here, duration deadline, test::failures& told) {
    const gpu::stream compute = here.stream();
    const auto data = here.filled<float>(100, 1.0f), more = here.filled<float>(100, 1.0f);
    auto well = here.all.all_reduce(data, sum);
    co_await std::move(well);
    gpu::operation first = here.all.all_reduce(data, sum, {.deadline = deadline});
    gpu::operation second = here.all.all_reduce(more, sum, {.deadline = deadline});
    future<> ended[] = {here.all.watch(), second.wait_on(compute), std::move(second).completed(), std::move(first).completed()};
    std::optional<failure> last;
    for (future<>& each : ended) {
        const auto how = co_await as_result(std::move(each));
        if (how) continue;  // enqueued before it happened
        if (last) CHECK(how.failure().code() == last->code());
        last = how.failure();
    }
    told[static_cast<std::size_t>(here.me)] = last;
    // And everything called later.
    auto late = here.all.barrier();
    const auto how = co_await as_result(std::move(late).completed());
    REQUIRE_FALSE(how);
    if (last) CHECK(how.failure().code() == last->code());
}

struct disaster {
    const char* name;
    std::function<void(gpu::sim::machine&)> prepare;
    error code;
    const char* words;
};

const disaster disasters[] = {
    {"an error of the system on one rank", [](auto& machine) { machine.fail_operation(1, 1, ncclSystemError); }, error::system,
     "rank 1 on device 1: NCCL: unhandled system error"},
    {"a remote error on one rank", [](auto& machine) { machine.fail_operation(2, 1, ncclRemoteError); }, error::peer_died,
     "rank 2 on device 2"},
    {"a call that fails at once", [](auto& machine) { machine.fail("ncclAllReduce", ncclInternalError, 4); }, error::system, "all_reduce"},
    {"an operation that hangs", [](auto& machine) { machine.hang_operation(0, 1); }, error::timed_out,
     "all_reduce f32 sum count 100 #2, enqueued on device"},
    {"an event that cannot be recorded", [](auto& machine) { machine.fail("cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY, 4); },
     error::device_failed, "cuEventRecord"},
};

}  // namespace

TEST_CASE("a failure on one rank ends every wait on all ranks with its code") {
    for (const disaster& each : disasters)
        for (const int polls : {0, 3}) {
            CAPTURE(each.name);
            CAPTURE(polls);
            gpu::sim::options how;
            how.polls = polls;
            device_stage stage(3, how);
            stage.card_options.polling = polls == 0 ? gpu::poll_mode::thread : gpu::poll_mode::adaptive;
            each.prepare(stage.machine);
            test::failures told(3);
            stage.run([&told](device_rank& here) { return wait_for_the_worst(here, 2s, told); });
            test::check_each(told, each.code, each.words);
            CHECK(stage.machine.calls("ncclCommAbort") == 3);
        }
}

namespace {

/// Waits while something happens.
task<> wait_beside(device_rank& here, task<> happens, test::failures& told) {
    std::vector<task<>> both;
    both.push_back(std::move(happens));
    both.push_back(wait_for_the_worst(here, 1min, told));
    auto work = when_all(std::move(both));
    co_await std::move(work);
}

task<> break_device(device_rank& here, duration when) {
    co_await sleep_for(when);
    if (here.me == 1) here.machine.fault(1);
}

task<> kill(device_rank& here, simulated_network& network, duration when) {
    co_await sleep_for(when);
    if (here.me == 0) network.kill(1);
}

task<> abort(device_rank& here, duration when) {
    co_await sleep_for(when);
    if (here.me == 1) here.all.abort("enough of this");
}

}  // namespace

TEST_CASE("an error of NCCL's that comes while the device works is found within a millisecond, and told if nobody has died meanwhile") {
    device_stage stage(2);
    stage.machine.hang_operation(1, 0);
    stage.run([](device_rank& here) -> task<> {
        event_loop& loop = co_await this_loop;
        const auto data = here.filled<float>(100, 1.0f);
        auto summed = here.all.all_reduce(data, sum);
        auto enqueued = summed.enqueued();
        co_await std::move(enqueued);
        auto met = here.world.barrier();
        co_await std::move(met);
        co_await sleep_for(100ms + 300us);  // between two questions
        if (here.me == 1) here.machine.fail("ncclCommGetAsyncError", ncclSystemError);
        const time_point struck = loop.now();
        const auto how = co_await as_result(std::move(summed).completed());
        REQUIRE_FALSE(how);
        CHECK(how.failure().code() == error::system);
        CHECK(loop.now() - struck > 500ms);
        CHECK(loop.now() - struck <= 501ms);
    });
}

TEST_CASE("a remote error names no rank, and comes before a deadline that passes because of it") {
    device_stage stage(3);
    stage.machine.fail_operation(2, 1, ncclRemoteError);
    test::failures told(3);
    stage.run([&told](device_rank& here) { return wait_for_the_worst(here, here.me == 2 ? 300ms : 1min, told); });
    test::check_each(told, error::peer_died, "rank 2 on device 2");
    for (const auto& each : told) CHECK(each->details().peers.empty());
}

TEST_CASE("a fault of one device is told on all ranks") {
    device_stage stage(3);
    stage.machine.hang_operation(1, 1);
    test::failures told(3);
    stage.run([&told](device_rank& here) { return wait_beside(here, break_device(here, 20ms), told); });
    test::check_each(told, error::device_failed, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_CASE("a rank that dies ends every wait of the others, who say which it was") {
    simulated_network network(7, {});
    device_stage stage(3);
    stage.make_transport = [&network](event_loop& on) { return std::make_unique<simulated_transport>(on, network); };
    stage.machine.hang_operation(1, 1);
    test::failures told(3);
    stage.run([&](device_rank& here) { return wait_beside(here, kill(here, network, 50ms), told); });
    told.erase(told.begin() + 1);
    test::check_each(told, error::peer_died, "rank 1 died");
}

TEST_CASE("abort ends everything everywhere, with the reason") {
    device_stage stage(2);
    stage.machine.hang_operation(0, 1);
    test::failures told(2);
    stage.run([&told](device_rank& here) { return wait_beside(here, abort(here, 20ms), told); });
    test::check_each(told, error::aborted, "rank 1 aborted: enough of this");
}

namespace {

/// A call that only one rank makes, or makes differently.
struct mistake {
    const char* name;
    std::function<gpu::operation(device_rank&, const gpu::device_buffer<float>&)> call;
    error code;
    const char* words;
};

const mistake mistakes[] = {
    {"memory of the host",
     [](device_rank& here, const auto&) {
         static float host[4];
         return here.all.all_reduce(gpu::device_span(host, 4, data_type::f32), sum);
     },
     error::invalid_argument, "rank 1 called all_reduce f32 sum count 4 with a wrong argument: the input is memory of the host"},
    {"pinned memory",
     [](device_rank& here, const auto&) {
         const auto host = gpu::pinned_buffer<float>::allocate(here.card, 4).value();
         return here.all.broadcast(gpu::device_span(host.data(), 4, data_type::f32), 0);
     },
     error::invalid_argument, "pinned memory of the host"},
    {"memory of another device",
     [](device_rank& here, const auto&) {
         event_loop* const loop = event_loop::current();
         const auto other = gpu::open_device(here.card.inner()->driver(), 0, {}, {loop, loop, loop}).value();
         return here.all.broadcast(gpu::device_buffer<float>::allocate(other, 4).value(), 0);
     },
     error::invalid_argument, "the buffer is memory of device 0; memory of device 1 is expected"},
    {"no memory", [](device_rank& here, const auto&) { return here.all.broadcast(gpu::device_span(nullptr, 4, data_type::f32), 0); },
     error::invalid_argument, "null pointer"},
    {"a root that is no rank", [](device_rank& here, const auto& data) { return here.all.broadcast(data, 2); }, error::invalid_argument,
     "root 2 is not among the ranks 0 to 1"},
    {"a peer that is no rank", [](device_rank& here, const auto& data) { return here.all.send(data, -1); }, error::invalid_argument,
     "peer -1"},
    {"an output of another length", [](device_rank& here, const auto& data) { return here.all.all_gather(data, data); },
     error::invalid_argument, "the output has 100 elements, 200 are expected"},
    {"outputs that overlap",
     [](device_rank& here, const auto& data) {
         const gpu::device_span all(data);
         return here.all.all_reduce(all.part(0, 60), all.part(20, 60), sum);
     },
     error::invalid_argument, "overlap"},
    {"a list that overlaps",
     [](device_rank& here, const auto& data) {
         const gpu::device_span all(data), list[] = {all.part(50, 50), all.part(0, 40), all.part(30, 10)};
         return here.all.all_reduce(list, sum);
     },
     error::invalid_argument, "the list's buffers 1 and 2 overlap"},
    {"an exchange that receives what it sends",
     [](device_rank& here, const auto& data) {
         const gpu::device_span all(data);
         return here.all.exchange({gpu::send_to(all.part(0, 60), 0), gpu::recv_from(all.part(59, 10), 0)});
     },
     error::invalid_argument, "parts 0 and 1 overlap, and not both are sent"},
    {"a message of more than memory",
     [](device_rank& here, const auto& data) {
         return here.all.send(gpu::device_span(data.data(), (std::size_t{1} << 62) + 1, data_type::f32), 0);
     },
     error::invalid_argument, "more than memory can hold"},
    {"a deadline in the past", [](device_rank& here, const auto& data) { return here.all.all_reduce(data, sum, {.deadline = -1s}); },
     error::invalid_argument, "a deadline of -1 s"},
    {"an operator of the host's", [](device_rank& here, const auto& data) { return here.all.all_reduce(data, band); }, error::unsupported,
     "band of f32: NCCL has no such operator"},
    {"a type that only moves",
     [](device_rank& here, const auto& data) { return here.all.all_reduce(gpu::device_span(data.data(), 100, data_type::i16), sum); },
     error::unsupported, "sum of i16: NCCL does not compute with this type"},
    {"a scaled sum of whole numbers",
     [](device_rank& here, const auto& data) {
         return here.all.all_reduce(gpu::device_span(data.data(), 100, data_type::i32), premul_sum(0.5));
     },
     error::unsupported, "premul of i32"},
};

task<> make_mistake(device_rank& here, const mistake& what, test::failures& told) {
    const auto data = here.filled<float>(100, 1.0f);
    auto pending = here.all.all_reduce(data, sum);
    co_await std::move(pending);
    gpu::operation made = here.me == 1 ? what.call(here, data) : here.all.all_reduce(data, sum);
    const auto how = co_await as_result(std::move(made).completed());
    REQUIRE_FALSE(how);
    told[static_cast<std::size_t>(here.me)] = how.failure();
}

}  // namespace

TEST_CASE("a call that cannot be right is refused before NCCL sees it, on all ranks and in words") {
    for (const mistake& each : mistakes) {
        CAPTURE(each.name);
        device_stage stage(2);
        test::failures told(2);
        stage.run([&](device_rank& here) { return make_mistake(here, each, told); });
        test::check_each(told, each.code, each.words);
    }
}

namespace {

task<> call_while_capturing(device_rank& here, test::failures& told) {
    const gpu::stream compute = here.stream();
    const auto data = here.filled<float>(100, 1.0f);
    {
        const gpu::on_device current(here.card.inner()->driver(), here.card.inner()->context());
        REQUIRE(here.machine.begin_capture(compute.handle(), CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    }
    auto refused = here.all.all_reduce(data, sum, {.after = &compute});
    const auto how = co_await as_result(std::move(refused).completed());
    {
        const gpu::on_device current(here.card.inner()->driver(), here.card.inner()->context());
        CHECK(here.machine.end_capture(compute.handle()) == CUDA_SUCCESS);
    }
    REQUIRE_FALSE(how);
    told[static_cast<std::size_t>(here.me)] = how.failure();
}

}  // namespace

TEST_CASE("a call after a stream that is being captured is refused, and the capture is not disturbed") {
    device_stage stage(2);
    test::failures told(2);
    stage.run([&](device_rank& here) { return call_while_capturing(here, told); });
    test::check_each(told, error::unsupported, "the stream is being captured");
}

namespace {

/// Returns what a stage that cannot join says.
std::string refusal(device_stage& stage, error code) {
    try {
        stage.run([](device_rank&) -> task<> { co_return; });
    } catch (const failure& why) {
        CHECK(why.code() == code);
        return why.what();
    }
    return "no refusal";
}

bool contains(const std::string& all, const std::string& part) { return all.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("two ranks with one device are named, with what decided it") {
    device_stage stage(3);
    stage.device_of = [](rank me) { return me == 2 ? 0 : me; };
    const std::string why = refusal(stage, error::invalid_argument);
    CAPTURE(why);
    CHECK(contains(why, "ranks 0 and 2 have the same device, GPU-51515151"));
    CHECK(contains(why, "LOCAL_RANK is not set, CUDA_VISIBLE_DEVICES is not set"));
    CHECK(stage.machine.calls("ncclCommInitRankConfig") == 0);
}

TEST_CASE("where NCCL is insisted on, a rank without it is named with its reason on all ranks") {
    SUBCASE("no such device") {
        device_stage stage(2);
        stage.device_of = [](rank me) { return 5 * me; };
        stage.group.engine = gpu::engine_kind::nccl;
        const std::string why = refusal(stage, error::unsupported);
        CAPTURE(why);
        CHECK(contains(why, "rank 0 wants collectives on devices by NCCL, and rank 1 has no device: "));
        CHECK(contains(why, "5"));
    }
    SUBCASE("no NCCL") {
        device_stage stage(2);
        stage.nccl.why_not = failure(error::unsupported, "libnccl.so.2 is nowhere");
        stage.group.engine = gpu::engine_kind::nccl;
        CHECK(contains(refusal(stage, error::unsupported), "by NCCL, and rank 0 has no NCCL: libnccl.so.2 is nowhere"));
    }
    SUBCASE("NCCL does not begin") {
        device_stage stage(2);
        stage.machine.fail_init(1, ncclSystemError);
        CHECK(contains(refusal(stage, error::system), "rank 1 on device 1: NCCL: unhandled system error"));
    }
    SUBCASE("no id") {
        device_stage stage(2);
        stage.machine.fail("ncclGetUniqueId", ncclSystemError);
        CHECK(contains(refusal(stage, error::system), "ncclGetUniqueId"));
    }
    SUBCASE("no memory for a communicator") {
        device_stage stage(2);
        stage.machine.fail("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
        CHECK(contains(refusal(stage, error::device_failed), "cuMemAlloc"));
    }
}

}  // namespace failure_test
