// NCCL called without Tutti, to compare the library's calls with. On the device's issuing loop only, as NCCL wants one thread for each device.
#pragma once

#include "call_cost.hpp"

#include "gpu/device_state.hpp"
#include "gpu/tables.hpp"

namespace gpu_bench {

class bare_nccl {
public:
    /// Blocks until all ranks have come. All of these throw the failure in NCCL's words.
    bare_nccl(tutti::gpu::device_state& where, const tutti::gpu::nccl_table& nccl, const ncclUniqueId& id, int size, int me, bool blocking,
              CUstream stream);
    bare_nccl(const bare_nccl&) = delete;
    bare_nccl& operator=(const bare_nccl&) = delete;
    ~bare_nccl();

    /// `times` all-reduces of f32, `window` of them at most on the stream before the host waits for one; then for the last.
    void all_reduce(const float* from, float* to, std::size_t count, scaling op, int times, int window);

private:
    void enqueue(const float* from, float* to, std::size_t count, scaling op);
    /// Asks until it is in progress no more.
    void settle(const char* call, ncclResult_t code);

    tutti::gpu::device_state& where_;
    const tutti::gpu::nccl_table& nccl_;
    const CUstream stream_;
    ncclComm_t comm_ = nullptr;
};

}  // namespace gpu_bench
