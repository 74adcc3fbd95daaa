// Every fault that can be injected, and how it shows.
#include "gpu/ranks.hpp"
#include "gpu/sim/checked_machine.hpp"

#include <atomic>
#include <thread>

namespace sim_faults_test {

using namespace tutti;
using namespace tutti::gpu;
using namespace std::chrono_literals;
using test::device;
using test::ranks;

namespace {

sim::options with_devices(int devices) {
    sim::options how;
    how.devices = devices;
    return how;
}

void reduce_everywhere(const ranks& world) {
    world.all([&](int rank) {
        float* const data = world.put<float>(rank, {1, 2});
        return world.nccl.ncclAllReduce(data, data, 2, ncclFloat32, ncclSum, world.comm(rank), world.stream(rank));
    });
}

}  // namespace

TEST_CASE("a device's fault stays: every call says it, and nothing runs any more") {
    sim::checked_machine machine;
    device on(machine.driver());
    const CUstream stream = on.stream();
    const CUevent event = on.event();
    const CUdeviceptr memory = on.allocate(8);
    on.cuda.cuEventRecord(event, stream);
    int called = 0;
    on.cuda.cuLaunchHostFunc(
        stream, [](void* times) { ++*static_cast<int*>(times); }, &called);
    machine.fault(0, CUDA_ERROR_ECC_UNCORRECTABLE);
    machine.run();
    CHECK(called == 0);
    for (int times = 0; times < 2; ++times) CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_ECC_UNCORRECTABLE);
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_ERROR_ECC_UNCORRECTABLE);
    CHECK(on.cuda.cuMemsetD8Async(memory, 0, 8, stream) == CUDA_ERROR_ECC_UNCORRECTABLE);
    const char* name = nullptr;
    CHECK(on.cuda.cuGetErrorName(CUDA_ERROR_ECC_UNCORRECTABLE, &name) == CUDA_SUCCESS);
    CHECK(std::string(name) == "CUDA_ERROR_ECC_UNCORRECTABLE");
}

TEST_CASE("memory ends where the device's does, and any call fails when a test says so") {
    sim::options how;
    how.device_bytes = 1000;
    sim::checked_machine machine(how);
    device on(machine.driver());
    on.allocate(600);
    CUdeviceptr memory = 0;
    CHECK(on.cuda.cuMemAlloc(&memory, 401) == CUDA_ERROR_OUT_OF_MEMORY);
    on.allocate(400);
    machine.fail("cuEventQuery", CUDA_ERROR_LAUNCH_FAILED, 1, 2);
    const CUevent event = on.event();
    CHECK(on.cuda.cuEventQuery(event) == CUDA_SUCCESS);
    CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(on.cuda.cuEventQuery(event) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(on.cuda.cuEventQuery(event) == CUDA_SUCCESS);
    CHECK(machine.calls("cuEventQuery") == 4);
    CHECK(machine.own_calls("cuEventQuery") == 4);
    CHECK(machine.calls("cuMemAlloc") == 3);
}

TEST_CASE("host functions are late, or never called, and hold up their stream") {
    sim::checked_machine machine;
    device on(machine.driver());
    const CUstream stream = on.stream();
    int called = 0;
    const auto call = [&] {
        on.cuda.cuLaunchHostFunc(
            stream, [](void* times) { ++*static_cast<int*>(times); }, &called);
        machine.launch(stream, 1us, {}, "behind");
    };
    machine.delay_host_functions(300us);
    call();
    machine.advance(299us);
    CHECK(called == 0);
    machine.run();
    CHECK(called == 1);
    CHECK(machine.now() == time_point(301us));
    machine.never_call_host_functions();
    call();
    machine.run();
    CHECK(called == 1);
    CHECK(machine.trace().named("behind").size() == 1);
}

TEST_CASE("any entry point can hold a thread until it is released, and the others go on") {
    for (const char* entry_point :
         {"cuEventQuery", "cuEventDestroy", "cuMemFree", "ncclCommAbort", "ncclCommFinalize", "ncclCommDestroy"}) {
        CAPTURE(entry_point);
        sim::checked_machine machine;
        ranks world(machine, 1);
        const driver_table cuda = machine.driver();
        const CUcontext context = world.on(0).context;
        const CUevent mine = world.on(0).event();
        CUevent event = nullptr;
        CUdeviceptr memory = 0;
        cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
        cuda.cuMemAlloc(&memory, 8);
        const ncclComm_t comm = std::exchange(world.comms[0], nullptr);
        machine.stick(entry_point);
        std::atomic<bool> back = false;
        std::thread other([&] {
            cuda.cuCtxSetCurrent(context);
            CHECK(cuda.cuEventQuery(event) == CUDA_SUCCESS);
            CHECK(cuda.cuEventDestroy(event) == CUDA_SUCCESS);
            CHECK(cuda.cuMemFree(memory) == CUDA_SUCCESS);
            if (std::string(entry_point) == "ncclCommAbort") {
                CHECK(world.nccl.ncclCommAbort(comm) == ncclSuccess);
            } else {
                CHECK(world.nccl.ncclCommFinalize(comm) == ncclInProgress);
                CHECK(world.settled(comm) == ncclSuccess);
                CHECK(world.nccl.ncclCommDestroy(comm) == ncclSuccess);
            }
            back = true;
        });
        while (machine.stuck(entry_point) == 0) std::this_thread::yield();
        CHECK(cuda.cuEventRecord(mine, world.stream(0)) == CUDA_SUCCESS);
        machine.run();
        CHECK_FALSE(back);
        machine.release(entry_point);
        other.join();
        CHECK(back);
    }
}

TEST_CASE("a slow call takes the time of who makes it") {
    sim::checked_machine machine;
    device on(machine.driver());
    const CUevent event = on.event();
    machine.slow("cuEventQuery", 40us);
    machine.launch(on.stream(), 30us);
    CHECK(on.cuda.cuEventQuery(event) == CUDA_SUCCESS);
    CHECK(machine.now() == time_point(40us));
    CHECK(machine.trace().of(sim::work_kind::kernel).size() == 1);
}

TEST_CASE("an operation that fails tells its own rank, and nobody's operation ends") {
    sim::checked_machine machine(with_devices(2));
    ranks world(machine, 2);
    machine.fail_operation(1, 1, ncclRemoteError);
    reduce_everywhere(world);
    machine.run();
    CHECK(machine.idle());
    reduce_everywhere(world);
    machine.run();
    CHECK_FALSE(machine.idle());
    CHECK(world.settled(0) == ncclSuccess);
    CHECK(world.settled(1) == ncclRemoteError);
    for (ncclComm_t& each : world.comms) CHECK(world.nccl.ncclCommAbort(std::exchange(each, nullptr)) == ncclSuccess);
    machine.run();
    CHECK(machine.idle());
}

TEST_CASE("an operation that hangs tells nobody") {
    sim::checked_machine machine(with_devices(2));
    ranks world(machine, 2);
    machine.hang_operation(0, 0);
    reduce_everywhere(world);
    machine.run();
    CHECK_FALSE(machine.idle());
    for (int rank : {0, 1}) CHECK(world.settled(rank) == ncclSuccess);
    // One rank's abort frees its own stream only.
    CHECK(world.nccl.ncclCommAbort(std::exchange(world.comms[0], nullptr)) == ncclSuccess);
    machine.run();
    CHECK_FALSE(machine.idle());
}

TEST_CASE("a slow rank makes all of them late") {
    sim::checked_machine machine(with_devices(2));
    ranks world(machine, 2);
    machine.slow_rank(1, 2ms);
    reduce_everywhere(world);
    machine.run();
    for (const auto& each : machine.trace().of(sim::work_kind::collective)) CHECK(each.started == time_point(2ms));
}

TEST_CASE("a communicator is in progress as often as asked, and its making fails when told") {
    sim::options how = with_devices(2);
    how.polls = 3;
    sim::checked_machine machine(how);
    device on(machine.driver());
    const nccl_table nccl = machine.nccl();
    machine.fail_init(0, ncclSystemError);
    ncclUniqueId id;
    nccl.ncclGetUniqueId(&id);
    ncclComm_t comm = nullptr;
    ncclConfig_t config = ranks::non_blocking();
    CHECK(nccl.ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInProgress);
    ncclResult_t state = ncclSuccess;
    for (int times = 0; times < 3; ++times) {
        CHECK(nccl.ncclCommGetAsyncError(comm, &state) == ncclSuccess);
        CHECK(state == ncclInProgress);
    }
    CHECK(nccl.ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    CHECK(state == ncclSystemError);
    CHECK(nccl.ncclCommAbort(comm) == ncclSuccess);
}

TEST_CASE("ncclCommFinalize waits for what is queued, or for ever when told") {
    for (const bool never : {false, true}) {
        CAPTURE(never);
        sim::checked_machine machine(with_devices(2));
        ranks world(machine, 2);
        reduce_everywhere(world);
        if (never) machine.never_finalize(0);
        for (int rank : {0, 1}) CHECK(world.nccl.ncclCommFinalize(world.comm(rank)) == ncclInProgress);
        CHECK(world.settled(0) == ncclInProgress);
        machine.run();
        CHECK(world.settled(0) == (never ? ncclInProgress : ncclSuccess));
        CHECK(world.settled(1) == ncclSuccess);
    }
}

TEST_CASE("without strictness calls that do not match hang, and nobody is told") {
    sim::options how = with_devices(2);
    how.strict = false;
    sim::checked_machine machine(how);
    ranks world(machine, 2);
    world.all([&](int rank) {
        float* const data = world.put<float>(rank, {1, 2});
        return world.nccl.ncclBroadcast(data, data, 2, ncclFloat32, rank, world.comm(rank), world.stream(rank));
    });
    machine.run();
    CHECK_FALSE(machine.idle());
}

}  // namespace sim_faults_test
