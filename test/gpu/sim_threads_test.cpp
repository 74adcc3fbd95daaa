// The threaded engine: ranks as threads, streams as threads, real races for sanitizers to find.
#include "gpu/device.hpp"
#include "gpu/sim/checked_machine.hpp"

#include <numeric>
#include <thread>

namespace sim_threads_test {

using namespace tutti;
using namespace tutti::gpu;
using namespace std::chrono_literals;
using test::device;

namespace {

constexpr int size = 3;
constexpr int rounds = 20;
constexpr std::size_t count = 1000;

/// One rank: compute, hand over to the communication stream, reduce, hand back, fetch.
class rank_thread {
public:
    rank_thread(sim::machine& machine, int rank, const ncclUniqueId& id, bool blocking)
        : machine_(machine),
          nccl_(machine.nccl()),
          on_(machine.driver(), rank),
          rank_(rank) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = blocking ? 1 : 0;
        settle(nccl_.ncclCommInitRankConfig(&comm_, size, id, rank, &config));
    }

    void work() {
        const CUstream compute = on_.stream(), comm = on_.stream();
        const CUevent filled = on_.event(), reduced = on_.event(), fetched = on_.event();
        const CUdeviceptr memory = on_.allocate(count * sizeof(float));
        float* const shadow = machine_.shadow_of<float>(memory);
        float* const host = on_.pin<float>(count);
        for (int round = 0; round < rounds; ++round) {
            const float value = static_cast<float>(rank_ + round);
            machine_.launch(compute, 5us, [shadow, value] { std::fill_n(shadow, count, value); }, "fill",
                            {{memory, count * sizeof(float)}});
            right(on_.cuda.cuEventRecord(filled, compute));
            right(on_.cuda.cuStreamWaitEvent(comm, filled, 0));
            auto* const data = reinterpret_cast<float*>(memory);
            settle(nccl_.ncclAllReduce(data, data, count, ncclFloat32, ncclSum, comm_, comm));
            right(on_.cuda.cuEventRecord(reduced, comm));
            right(on_.cuda.cuStreamWaitEvent(compute, reduced, 0));
            right(on_.cuda.cuMemcpyDtoHAsync(host, memory, count * sizeof(float), compute));
            right(on_.cuda.cuEventRecord(fetched, compute));
            CUresult state = CUDA_ERROR_NOT_READY;
            while ((state = on_.cuda.cuEventQuery(fetched)) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
            right(state);
            const float expected = static_cast<float>(size * round + size * (size - 1) / 2);
            wrong += static_cast<int>(count) - static_cast<int>(std::count(host, host + count, expected));
        }
        settle(nccl_.ncclCommFinalize(comm_));
        if (nccl_.ncclCommDestroy(comm_) != ncclSuccess) ++wrong;
    }

    int wrong = 0;

private:
    void right(CUresult state) { wrong += state != CUDA_SUCCESS; }
    void settle(ncclResult_t state) {
        while (state == ncclInProgress) {
            std::this_thread::yield();
            if (nccl_.ncclCommGetAsyncError(comm_, &state) != ncclSuccess) state = ncclInternalError;
        }
        wrong += state != ncclSuccess;
    }

    sim::machine& machine_;
    const nccl_table nccl_;
    device on_;
    int rank_;
    ncclComm_t comm_ = nullptr;
};

}  // namespace

TEST_CASE("ranks on threads reduce what their compute streams made, with and without blocking") {
    for (const bool blocking : {false, true}) {
        CAPTURE(blocking);
        sim::options how;
        how.engine = sim::engine::threaded;
        how.devices = size;
        how.jitter = 50us;
        how.polls = 2;
        sim::checked_machine machine(how);
        ncclUniqueId id;
        REQUIRE(machine.nccl().ncclGetUniqueId(&id) == ncclSuccess);
        std::vector<std::thread> threads;
        std::array<int, size> wrong{};
        for (int rank = 0; rank < size; ++rank)
            threads.emplace_back([&, rank] {
                rank_thread mine(machine, rank, id, blocking);
                mine.work();
                wrong[static_cast<std::size_t>(rank)] = mine.wrong;
            });
        for (std::thread& each : threads) each.join();
        CHECK(wrong == std::array<int, size>{});
        CHECK(machine.trace().waits.size() == static_cast<std::size_t>(3 * size));  // two frees and the destroy of each rank
    }
}

TEST_CASE("an abort ends what hangs, and the stream goes on") {
    sim::options how;
    how.engine = sim::engine::threaded;
    sim::checked_machine machine(how);
    const nccl_table nccl = machine.nccl();
    device on(machine.driver());
    const CUstream stream = on.stream();
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    CHECK(nccl.ncclGetUniqueId(&id) == ncclSuccess);
    CHECK(nccl.ncclCommInitRankConfig(&comm, 1, id, 0, nullptr) == ncclSuccess);
    machine.hang_operation(0, 0);
    auto* const data = reinterpret_cast<float*>(on.allocate(8));
    auto* const other = reinterpret_cast<float*>(on.allocate(8));
    CHECK(nccl.ncclAllReduce(data, other, 2, ncclFloat32, ncclSum, comm, stream) == ncclSuccess);
    const CUevent behind = on.event();
    CHECK(on.cuda.cuEventRecord(behind, stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuEventQuery(behind) == CUDA_ERROR_NOT_READY);
    std::thread([&] { CHECK(nccl.ncclCommAbort(comm) == ncclSuccess); }).join();
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(on.cuda.cuEventQuery(behind) == CUDA_SUCCESS);
}

TEST_CASE("a fault in the middle of a kernel ends the wait for it") {
    sim::options how;
    how.engine = sim::engine::threaded;
    sim::checked_machine machine(how);
    device on(machine.driver());
    const CUstream stream = on.stream();
    machine.launch(stream, 1h, [] { FAIL("it must not end"); });
    std::thread other([&] { machine.fault(0); });
    CHECK(on.cuda.cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
    other.join();
}

}  // namespace sim_threads_test
