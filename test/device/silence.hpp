// Tables whose functions do nothing, well: the simulator allocates for every call, so who counts allocations calls these.
#pragma once

#include "device/ranks.hpp"
#include "support/allocations.hpp"

namespace tutti::test {

inline CUresult nothing_done() { return CUDA_SUCCESS; }

inline void silence(gpu::driver_table& driver) {
    driver.cuCtxGetCurrent = [](CUcontext*) { return nothing_done(); };
    driver.cuCtxSetCurrent = [](CUcontext) { return nothing_done(); };
    driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return nothing_done(); };
    driver.cuStreamIsCapturing = [](CUstream, CUstreamCaptureStatus* status) {
        *status = CU_STREAM_CAPTURE_STATUS_NONE;
        return nothing_done();
    };
    driver.cuEventRecord = [](CUevent, CUstream) { return nothing_done(); };
    driver.cuEventQuery = [](CUevent) { return nothing_done(); };
    driver.cuStreamWaitEvent = [](CUstream, CUevent, unsigned) { return nothing_done(); };
    driver.cuMemcpyHtoDAsync = [](CUdeviceptr, const void*, std::size_t, CUstream) { return nothing_done(); };
    driver.cuMemcpyDtoHAsync = [](void*, CUdeviceptr, std::size_t, CUstream) { return nothing_done(); };
    driver.cuMemsetD8Async = [](CUdeviceptr, unsigned char, std::size_t, CUstream) { return nothing_done(); };
    driver.cuPointerGetAttribute = [](void* value, CUpointer_attribute what, CUdeviceptr) {
        *static_cast<unsigned*>(value) = what == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? CU_MEMORYTYPE_DEVICE : 0;
        return nothing_done();
    };
}

inline void silence(gpu::driver_table& driver, gpu::nccl_table& nccl) {
    silence(driver);
    nccl.ncclAllReduce = [](const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t) {
        return ncclInProgress;
    };
    nccl.ncclGroupStart = [] { return ncclSuccess; };
    nccl.ncclGroupEnd = [] { return ncclInProgress; };
    nccl.ncclCommGetAsyncError = [](ncclComm_t, ncclResult_t* state) {
        *state = ncclSuccess;
        return ncclSuccess;
    };
}

/// By this thread in a hundred of what `work` begins when it is given 0, 1, 2 and so on, after fifty others.
template <class Work>
task<std::size_t> count_allocations(device_stage& stage, Work work) {
    const gpu::driver_table driver = stage.driver;
    const gpu::nccl_table nccl = stage.nccl.table;
    silence(stage.driver, stage.nccl.table);
    std::size_t before = 0;
    for (int turn = 0; turn < 150; ++turn) {
        if (turn == 50) before = own_allocations();
        auto begun = work(turn);
        co_await std::move(begun);
    }
    const std::size_t counted = own_allocations() - before;
    stage.driver = driver;
    stage.nccl.table = nccl;
    co_return counted;
}

}  // namespace tutti::test
