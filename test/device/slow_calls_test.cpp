// NCCL's calls may take long, whatever its manual says: the loop whose tasks they serve, and which makes progress for all ranks, goes on.
#include "device/ranks.hpp"

#include <tutti/gpu/copy.hpp>
#include <tutti/sleep.hpp>

#include <algorithm>
#include <string>
#include <thread>

namespace slow_calls_test {

using namespace tutti;
using namespace std::chrono_literals;
using test::device_rank;
using test::device_stage;

namespace {

/// Time passes while threads wait for each other, so nothing may be over too early.
constexpr duration long_enough = 1000h;

task<> close_later(std::unique_ptr<gpu::communicator> what) {
    auto closing = what->close(long_enough);
    co_await std::move(closing);
}

/// A step of the reducer's, too: whether its buckets are there is asked of the device.
task<> train_once(device_rank& here) {
    const gpu::stream compute = here.stream();
    gpu::reducer gradients(here.all, {{"layer", 100, data_type::f32}});
    here.kernel(compute, 1ms);
    gradients.ready(0, compute);
    auto ending = gradients.finish();
    co_await std::move(ending);
}

/// Whatever the library gives back to the driver, or waits for there, as soon as nothing needs it.
task<> let_go(device_rank& here) {
    {
        const gpu::stream own = here.stream();
        const auto pinned = gpu::pinned_buffer<float>::allocate(here.card, 100).value();
        const auto data = here.filled<float>(100, 1.0f);
        here.kernel(own, 1ms);
        auto copied = gpu::copy(own, pinned, data);
        co_await std::move(copied);
    }
    for (const char* last : {"cuMemFree", "cuMemFreeHost", "cuStreamDestroy"})
        while (here.machine.calls(last) == 0) co_await sleep_for(1ms);
}

/// Whatever the library calls in NCCL.
task<> call_everything(device_rank& here) {
    const auto data = here.filled<float>(100, 1.0f), more = here.filled<float>(100, 0.0f);
    gpu::operation all[] = {here.all.all_reduce({data, more}, sum),
                            here.all.all_reduce(data, premul_sum(0.5)),
                            here.all.reduce(data, sum, 0),
                            here.all.broadcast(data, 0),
                            here.all.exchange({gpu::send_to(data, 1 - here.me), gpu::recv_from(more, 1 - here.me)}),
                            here.all.barrier()};
    for (gpu::operation& each : all) co_await std::move(each);
    auto splitting = here.all.split(0, here.me);
    auto closing = close_later(co_await std::move(splitting));
    co_await std::move(closing);
    if (here.me == 1) co_return;
    auto shrinking = here.all.shrink({1});
    closing = close_later(co_await std::move(shrinking));
    co_await std::move(closing);
}

task<> call_and_abort(device_rank& here) {
    const auto data = here.filled<float>(100, 1.0f);
    gpu::operation summed = here.all.all_reduce(data, sum);
    co_await std::move(summed);
    auto met = here.world.barrier();
    co_await std::move(met);
    auto watching = here.all.watch();
    if (here.me == 0) here.all.abort("enough of this");
    const auto how = co_await as_result(std::move(watching));
    CHECK_FALSE(how);
    auto late = here.all.barrier();  // ends when nothing of NCCL's is left
    const auto ended = co_await as_result(std::move(late).completed());
    CHECK_FALSE(ended);
}

/// The ranks on one loop, their devices with threads of their own; and a timer that looks how late it is.
class slow_stage {
public:
    slow_stage(const char* entry_point, const test::device_body& body, gpu::poll_mode polling) : body_(body) {
        stage_.card_options.polling = polling;
        stage_.machine.slow(entry_point, 1s);
        stage_.options.operation = stage_.options.rendezvous = long_enough;
        stage_.card_options.stuck = long_enough;
        std::vector<task<>> all;
        for (rank me = 0; me < left_; ++me) all.push_back(one_rank(me));
        all.push_back(look());
        tutti::run(stage_.loop, when_all(std::move(all)));
        stage_.machine.slow(entry_point, {});
        stage_.leave();
        auto& machine = stage_.machine;
        while (machine.calls("cuDevicePrimaryCtxRelease") < machine.calls("cuDevicePrimaryCtxRetain"))
            if (!machine.step()) std::this_thread::yield();
    }
    const gpu::sim::machine& machine() const { return stage_.machine; }
    duration worst() const { return worst_; }

private:
    task<> one_rank(rank me) {
        const auto gone = std::shared_ptr<void>(nullptr, [this](void*) { --left_; });
        stage_.homes.push_back(std::make_unique<context>(stage_.loop, stage_.make_transport(stage_.loop), stage_.options));
        context& home = *stage_.homes.back();
        world who;
        who.me = me;
        who.size = who.local_size = 2;
        who.master_address = "127.0.0.1";
        auto joining = home.join(who, memory_store(stage_.table));
        const auto ranks = co_await std::move(joining);
        const gpu::device card = gpu::open_device(stage_.driver, me, stage_.card_options).value();
        auto meeting = tutti::detail::join_devices(*ranks, tutti::detail::device_joining(card, stage_.nccl, gpu::group_options()));
        auto all = co_await std::move(meeting);
        device_rank here{me, *all, *ranks, card, stage_.machine};
        auto work = body_(here);
        co_await std::move(work);
        try {
            auto closing = close_later(std::move(all));
            co_await std::move(closing);
        } catch (const failure& why) {
            CHECK(why.code() == error::aborted);
        }
        auto leaving = ranks->close(long_enough);
        co_await std::move(leaving);
    }

    /// By the machine's clock, which a call on this thread moves.
    task<> look() {
        while (left_ > 0) {
            const time_point due = stage_.machine.now() + 1ms;
            co_await sleep_for(1ms);
            worst_ = std::max<duration>(worst_, stage_.machine.now() - due);
        }
    }

    const test::device_body& body_;
    device_stage stage_{2};
    int left_ = 2;
    duration worst_{};
};

void check(const char* entry_point, const test::device_body& body, gpu::poll_mode polling = gpu::poll_mode::adaptive) {
    CAPTURE(std::string(entry_point));
    const slow_stage stage(entry_point, body, polling);
    CHECK(stage.worst() < 10ms);
    CHECK(stage.machine().calls(entry_point) > 0);
    CHECK(stage.machine().own_calls(entry_point) == 0);
}

}  // namespace

TEST_CASE("whichever call of NCCL's takes long, the timers of the loop that waits for it are less than 10 ms late") {
    for (const char* entry_point : {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommGetAsyncError", "ncclAllReduce", "ncclReduce",
                                    "ncclBroadcast", "ncclSend", "ncclRecv", "ncclGroupStart", "ncclGroupEnd", "ncclRedOpCreatePreMulSum",
                                    "ncclRedOpDestroy", "ncclCommSplit", "ncclCommShrink", "ncclCommFinalize", "ncclCommDestroy"})
        check(entry_point, call_everything);
    check("ncclCommAbort", call_and_abort);
}

TEST_CASE("where the device's thread asks for operations, questions that take long hold up no timers either") {
    check("cuEventQuery", call_everything, gpu::poll_mode::thread);
    check("cuEventQuery", train_once, gpu::poll_mode::thread);
}

TEST_CASE("nor does giving back to the driver what it may take long to take") {
    for (const char* entry_point : {"cuMemFree", "cuMemFreeHost", "cuStreamDestroy"}) check(entry_point, let_go);
}

}  // namespace slow_calls_test
