// Several ranks on one thread: a device, a stream and a non-blocking communicator for each, on a simulated machine.
#pragma once

#include "gpu/device.hpp"
#include "gpu/sim/machine.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace tutti::test {

class ranks {
public:
    ranks(gpu::sim::machine& machine, int count) : machine_(machine), nccl(machine.nccl()), size(count) {
        ncclUniqueId id;
        REQUIRE(nccl.ncclGetUniqueId(&id) == ncclSuccess);
        comms.resize(static_cast<std::size_t>(size));
        for (int rank = 0; rank < size; ++rank) {
            devices.push_back(std::make_unique<device>(machine.driver(), rank));
            streams.push_back(devices.back()->stream());
            ncclConfig_t config = non_blocking();
            REQUIRE(nccl.ncclCommInitRankConfig(&comms[at(rank)], size, id, rank, &config) == ncclInProgress);
        }
        for (int rank = 0; rank < size; ++rank) REQUIRE(settled(rank) == ncclSuccess);
    }
    /// Aborts what was not destroyed.
    ~ranks() {
        for (ncclComm_t each : comms)
            if (each != nullptr) nccl.ncclCommAbort(each);
    }

    static ncclConfig_t non_blocking() {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        return config;
    }
    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
    ncclComm_t comm(int rank) const { return comms[at(rank)]; }
    CUstream stream(int rank) const { return streams[at(rank)]; }
    device& on(int rank) const {
        devices[at(rank)]->cuda.cuCtxSetCurrent(devices[at(rank)]->context);
        return *devices[at(rank)];
    }
    /// Asks until a communicator is in progress no more, a hundred times at most.
    ncclResult_t settled(ncclComm_t comm) const {
        ncclResult_t state = ncclInProgress;
        for (int times = 0; times < 100 && state == ncclInProgress; ++times)
            REQUIRE(nccl.ncclCommGetAsyncError(comm, &state) == ncclSuccess);
        return state;
    }
    ncclResult_t settled(int rank) const { return settled(comm(rank)); }
    /// Every rank calls, then every rank is waited for. A split or a shrink that has begun says "success".
    void all(const std::function<ncclResult_t(int)>& call, ncclResult_t begun = ncclInProgress) const {
        for (int rank = 0; rank < size; ++rank) REQUIRE(call(rank) == begun);
        for (int rank = 0; rank < size; ++rank) REQUIRE(settled(rank) == ncclSuccess);
    }
    /// Device memory of one rank with these elements.
    template <class T>
    T* put(int rank, const std::vector<T>& values) const {
        const CUdeviceptr memory = on(rank).allocate(values.size() * sizeof(T));
        std::copy(values.begin(), values.end(), machine_.shadow_of<T>(memory));
        return reinterpret_cast<T*>(memory);
    }
    template <class T>
    std::vector<T> get(const T* memory, std::size_t count) const {
        const T* const all = machine_.shadow_of<T>(reinterpret_cast<CUdeviceptr>(memory));
        return std::vector<T>(all, all + count);
    }

private:
    gpu::sim::machine& machine_;

public:
    const gpu::nccl_table nccl;
    const int size;
    std::vector<std::unique_ptr<device>> devices;
    std::vector<CUstream> streams;
    std::vector<ncclComm_t> comms;
};

}  // namespace tutti::test
