// Every rule of the simulated NCCL, broken once: the sentence that says so.
#include "gpu/broken_rule.hpp"
#include "gpu/ranks.hpp"
#include "gpu/sim/checked_machine.hpp"

#include <string>
#include <thread>

namespace sim_nccl_misuse_test {

using namespace tutti;
using namespace tutti::gpu;
using namespace std::chrono_literals;
using test::broken_rule;
using test::on_another_thread;
using test::ranks;

namespace {

ncclResult_t reduce(ranks& world, int rank, float* data, std::size_t count = 4, ncclRedOp_t op = ncclSum) {
    return world.nccl.ncclAllReduce(data, data, count, ncclFloat32, op, world.comm(rank), world.stream(rank));
}
float* four(ranks& world, int rank) { return world.put<float>(rank, {1, 2, 3, 4}); }

const broken_rule<ranks> broken_rules[] = {
    {"a call while the communicator is in progress poisons it",
     [](auto&, auto& world) {
         float* const data = four(world, 0);
         CHECK(reduce(world, 0, data) == ncclInProgress);
         CHECK(reduce(world, 0, data) == ncclInvalidArgument);
         CHECK(world.settled(0) == ncclInvalidArgument);
         CHECK(world.settled(0) == ncclInvalidArgument);
     },
     "main: ncclAllReduce on rank 0 of communicator 0 while it is in progress"},
    {"work on the stream while the communicator is in progress",
     [](auto& machine, auto& world) {
         const CUevent event = world.on(1).event();
         CHECK(reduce(world, 1, four(world, 1)) == ncclInProgress);
         world.on(1).cuda.cuEventRecord(event, world.stream(1));
         CHECK(world.settled(1) == ncclSuccess);
         world.on(1).cuda.cuEventRecord(event, world.stream(1));
         machine.run();
     },
     "main: record of an event on stream 1 of device 1 while rank 1 of communicator 0 is in progress: nothing may be enqueued there before "
     "ncclCommGetAsyncError has said success"},
    {"a destroy while it is in progress leaves a group open",
     [](auto&, auto& world) {
         float* const data = four(world, 0);
         CHECK(reduce(world, 0, data) == ncclInProgress);
         CHECK(world.nccl.ncclCommDestroy(world.comm(0)) == ncclInvalidArgument);
         CHECK(world.settled(0) == ncclSuccess);
         CHECK(reduce(world, 0, data) == ncclSuccess);  // it waits for the end of a group that no call began
         CHECK(world.nccl.ncclGroupEnd() == ncclInProgress);
         CHECK(world.settled(0) == ncclSuccess);
     },
     "main: ncclCommDestroy on rank 0 of communicator 0 while it is in progress: this thread's calls now wait for the end of a group"},
    {"an error asked for by another thread",
     [](auto& machine, auto& world) {
         CHECK(reduce(world, 0, four(world, 0)) == ncclInProgress);
         CHECK(world.settled(0) == ncclSuccess);
         on_another_thread(machine, "loop", [&] { world.settled(0); });
     },
     "loop: ncclCommGetAsyncError on rank 0 of communicator 0, which main issues on: it was not handed over"},
    {"a call by another thread",
     [](auto& machine, auto& world) {
         float* const data = four(world, 0);
         CHECK(reduce(world, 0, data) == ncclInProgress);
         CHECK(world.settled(0) == ncclSuccess);
         on_another_thread(machine, "other", [&] {
             CHECK(reduce(world, 0, data) == ncclInProgress);
             CHECK(world.settled(0) == ncclSuccess);
         });
         machine.hand_over(world.comm(0));
         CHECK(reduce(world, 0, data) == ncclInProgress);
         CHECK(world.settled(0) == ncclSuccess);
     },
     "other: ncclAllReduce on rank 0 of communicator 0, which main issues on: it was not handed over"},
    {"a split while an operation is queued",
     [](auto& machine, auto& world) {
         ncclComm_t made[2] = {};
         const auto split = [&](int rank) { return world.nccl.ncclCommSplit(world.comm(rank), 0, rank, &made[rank], nullptr); };
         world.all([&](int rank) { return reduce(world, rank, four(world, rank)); });
         CHECK(split(0) == ncclSuccess);
         machine.run();
         CHECK(split(1) == ncclSuccess);
         for (const int rank : {0, 1}) CHECK(world.settled(rank) == ncclSuccess);
         for (ncclComm_t each : made) world.comms.push_back(each);
     },
     "main: ncclCommSplit on rank 0 of communicator 0 while operations are queued: it may wait for ever"},
    {"two threads on one device with two communicators",
     [](auto& machine, auto& world) {
         ncclComm_t made[2] = {};
         world.all([&](int rank) { return world.nccl.ncclCommSplit(world.comm(rank), 0, rank, &made[rank], nullptr); }, ncclSuccess);
         CHECK(reduce(world, 0, four(world, 0)) == ncclInProgress);
         CHECK(world.settled(0) == ncclSuccess);
         machine.hand_over(made[0]);
         CHECK(reduce(world, 0, four(world, 0)) == ncclInProgress);
         CHECK(world.settled(0) == ncclSuccess);
         float* const data = four(world, 0);
         on_another_thread(machine, "other", [&] {
             CHECK(world.nccl.ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, made[0], world.stream(0)) == ncclInProgress);
             CHECK(world.settled(made[0]) == ncclSuccess);
         });
         for (ncclComm_t each : made) world.nccl.ncclCommAbort(each);
     },
     "other: ncclAllReduce on rank 0 of communicator 1 while main issues on device 0, too: NCCL wants one thread for each device"},
    {"a call while another thread is in one",
     [](auto& machine, auto& world) {
         machine.stick("ncclCommAbort");
         const ncclComm_t comm = std::exchange(world.comms[0], nullptr);
         std::thread lifecycle([&] {
             machine.name_thread("lifecycle");
             world.nccl.ncclCommAbort(comm);
         });
         while (machine.stuck("ncclCommAbort") == 0) std::this_thread::yield();
         world.settled(comm);
         machine.release("ncclCommAbort");
         lifecycle.join();
     },
     "main: ncclCommGetAsyncError on rank 0 of communicator 0 while lifecycle is in ncclCommAbort on it"},
    {"calls that do not match",
     [](auto& machine, auto& world) {
         world.all([&](int rank) { return reduce(world, rank, four(world, rank), rank == 0 ? 4 : 3); });
         machine.run();
         CHECK_FALSE(machine.idle());
     },
     "main: rank 1 of communicator 0 calls ncclAllReduce of 3 elements of type 7, operator 0 where rank 0 of communicator 0 calls "
     "ncclAllReduce of 4 elements of type 7, operator 0"},
    {"memory of the host",
     [](auto&, auto& world) {
         float data[4] = {};
         CHECK(reduce(world, 0, data) == ncclInvalidArgument);
     },
     "main: ncclAllReduce with a source that no device can reach"},
    {"memory of another device", [](auto&, auto& world) { CHECK(reduce(world, 0, four(world, 1)) == ncclInvalidArgument); },
     "main: ncclAllReduce with a source on device 1 for rank 0 of communicator 0, which is on device 0"},
    {"more elements than there are", [](auto&, auto& world) { CHECK(reduce(world, 0, four(world, 0), 5) == ncclInvalidArgument); },
     "main: ncclAllReduce with 20 bytes of source where 16 are left"},
    {"the stream of another device",
     [](auto&, auto& world) {
         float* const data = four(world, 0);
         CHECK(world.nccl.ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, world.comm(0), world.stream(1)) == ncclInvalidArgument);
     },
     "main: ncclAllReduce on rank 0 of communicator 0 with stream 1 of device 1"},
    {"memory freed while an operation is queued",
     [](auto& machine, auto& world) {
         CUdeviceptr memory = 0;
         world.on(0).cuda.cuMemAlloc(&memory, 16);
         world.all([&](int rank) { return reduce(world, rank, rank == 0 ? reinterpret_cast<float*>(memory) : four(world, rank)); });
         world.on(0).cuda.cuMemFree(memory);
         machine.run();
     },
     "main: cuMemFree of 16 bytes that ncclAllReduce on stream 0 of device 0 still uses\n"
     "ncclAllReduce on stream 0 of device 0 touches memory that main has freed while it was queued"},
    {"blocking communicators and others in one group",
     [](auto&, auto& world) {
         ncclComm_t blocking[2] = {};
         ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
         config.blocking = 1;
         world.all([&](int rank) { return world.nccl.ncclCommSplit(world.comm(rank), 0, rank, &blocking[rank], &config); }, ncclSuccess);
         float* const data = four(world, 0);
         world.nccl.ncclGroupStart();
         CHECK(reduce(world, 0, data) == ncclSuccess);
         CHECK(world.nccl.ncclAllReduce(data, data, 4, ncclFloat32, ncclSum, blocking[0], world.stream(0)) == ncclSuccess);
         CHECK(world.nccl.ncclGroupEnd() == ncclInvalidArgument);
         for (ncclComm_t each : blocking) CHECK(world.nccl.ncclCommDestroy(each) == ncclSuccess);
     },
     "main: ncclGroupEnd of communicators that block with others that do not"},
    {"an operation after the end",
     [](auto&, auto& world) {
         CHECK(world.nccl.ncclCommFinalize(world.comm(0)) == ncclInProgress);
         CHECK(world.settled(0) == ncclSuccess);
         CHECK(reduce(world, 0, four(world, 0)) == ncclInvalidUsage);
     },
     "main: ncclAllReduce on rank 0 of communicator 0, which was finalized"},
    {"a communicator that is gone",
     [](auto&, auto& world) {
         const ncclComm_t comm = std::exchange(world.comms[0], nullptr);
         CHECK(world.nccl.ncclCommDestroy(comm) == ncclSuccess);
         CHECK(world.nccl.ncclCommAbort(comm) == ncclInvalidArgument);
     },
     "main: ncclCommAbort on rank 0 of communicator 0, which is gone"},
    {"a group's end without a beginning", [](auto&, auto& world) { CHECK(world.nccl.ncclGroupEnd() == ncclInvalidUsage); },
     "main: ncclGroupEnd without a beginning"},
    {"an operator of another type",
     [](auto&, auto& world) {
         ncclRedOp_t op{};
         double factor = 0.5;
         CHECK(world.nccl.ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat64, ncclScalarHostImmediate, world.comm(0)) == ncclSuccess);
         CHECK(reduce(world, 0, four(world, 0), 4, op) == ncclInvalidArgument);
         CHECK(world.nccl.ncclRedOpDestroy(op, world.comm(0)) == ncclSuccess);
     },
     "main: ncclAllReduce on rank 0 of communicator 0 with an operator made for another type"},
    {"small floats that one rank is to scale",
     [](auto&, auto& world) {
         ncclComm_t alone[2] = {};
         world.all([&](int rank) { return world.nccl.ncclCommSplit(world.comm(rank), rank, 0, &alone[rank], nullptr); }, ncclSuccess);
         for (ncclComm_t each : alone) world.comms.push_back(each);
         float* const data = four(world, 0);
         CHECK(world.nccl.ncclAllReduce(data, data, 16, ncclFloat8e4m3, ncclAvg, alone[0], world.stream(0)) == ncclInvalidArgument);
         CHECK(world.nccl.ncclAllReduce(data, data, 16, ncclFloat8e4m3, ncclSum, alone[0], world.stream(0)) == ncclInProgress);
         CHECK(world.settled(alone[0]) == ncclSuccess);
     },
     "main: ncclAllReduce of small floats by one rank, which scales them in no kernel"},
    {"a rank that is to be left out takes part",
     [](auto&, auto& world) {
         int gone[] = {0};
         ncclComm_t made = nullptr;
         CHECK(world.nccl.ncclCommShrink(world.comm(0), gone, 1, &made, nullptr, NCCL_SHRINK_DEFAULT) == ncclInvalidArgument);
     },
     "main: ncclCommShrink by rank 0 of communicator 0, which is to be left out"},
    {"NCCL in a host function",
     [](auto& machine, auto& world) {
         world.on(0).cuda.cuLaunchHostFunc(
             world.stream(0),
             [](void* ask) {
                 const auto& asked = *static_cast<const ranks*>(ask);
                 ncclResult_t state = ncclSuccess;
                 CHECK(asked.nccl.ncclCommGetAsyncError(asked.comm(0), &state) != ncclSuccess);
             },
             &world);
         machine.run();
     },
     "main: ncclCommGetAsyncError in a host function: neither CUDA nor NCCL may be called there"},
    {"an operation of NCCL in a capture",
     [](auto& machine, auto& world) {
         world.on(0);
         machine.begin_capture(world.stream(0), CU_STREAM_CAPTURE_MODE_RELAXED);
         CHECK(reduce(world, 0, four(world, 0)) == ncclInProgress);
         CHECK(world.settled(0) == ncclSuccess);
         world.on(0);
         machine.end_capture(world.stream(0));
     },
     "main: ncclAllReduce on stream 0 of device 0, which is being captured"},
};

}  // namespace

TEST_CASE("what must not be done with NCCL is said in a sentence") {
    for (const broken_rule<ranks>& rule : broken_rules) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(rule.name);
            CAPTURE(seed);
            sim::options how;
            how.devices = 2;
            how.seed = seed;
            how.patience = 5ms;
            sim::checked_machine machine(how);
            machine.name_thread("main");
            ranks world(machine, 2);
            rule.act(machine, world);
            std::string all;
            for (const std::string& each : machine.take_misuse()) all += (all.empty() ? "" : "\n") + each;
            CHECK(all == rule.sentence);
        }
    }
}

TEST_CASE("small floats are refused where the version or the device does not have them") {
    struct row {
        int version, capability;
        bool moves, reduces;
        const char* sentence;
    };
    constexpr row rows[] = {
        {22403, 90, true, true, ""},
        {22403, 89, true, false, "main: ncclAllReduce of small floats on a device of capability 8.9, and 9.0 is needed"},
        {22304, 90, false, false, "main: ncclAllReduce of a type that this version does not have"},
    };
    for (const row& each : rows) {
        CAPTURE(each.version);
        CAPTURE(each.capability);
        sim::options how;
        how.nccl_version = each.version;
        how.capability = each.capability;
        sim::checked_machine machine(how);
        machine.name_thread("main");
        ranks world(machine, 1);
        auto* const data = world.put<std::uint8_t>(0, {1, 2, 3, 4});
        const auto settled = [&](ncclResult_t code) { return (code == ncclInProgress ? world.settled(0) : code) == ncclSuccess; };
        CHECK(settled(world.nccl.ncclAllReduce(data, data, 4, ncclFloat8e4m3, ncclSum, world.comm(0), world.stream(0))) == each.reduces);
        auto wrong = machine.take_misuse();
        CHECK((wrong.empty() ? "" : wrong[0]) == std::string(each.sentence));
        CHECK(settled(world.nccl.ncclBroadcast(data, data, 4, ncclFloat8e5m2, 0, world.comm(0), world.stream(0))) == each.moves);
        machine.run();
        CHECK(machine.take_misuse().empty() == each.moves);
    }
}

TEST_CASE("a communicator that nobody ends is named at the end") {
    sim::options how;
    how.devices = 2;
    sim::machine machine(how);
    {
        ranks world(machine, 2);
        world.comms[1] = nullptr;
    }
    CHECK(machine.end() == "at the end: rank 1 of communicator 0 was never given back\n");
}

}  // namespace sim_nccl_misuse_test
