// A device's primary context, current on this thread, and what a test makes there: all of it is given back. Knows the tables only, so
// it does with a simulated device and with a real one.
#pragma once

#include "gpu/tables.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace tutti::test {

struct device {
    explicit device(const gpu::driver_table& driver, int number = 0) : cuda(driver), ordinal(number) {
        cuda.cuInit(0);
        cuda.cuDevicePrimaryCtxRetain(&context, number);
        cuda.cuCtxSetCurrent(context);
    }
    ~device() {
        cuda.cuCtxSetCurrent(context);
        for (CUstream each : streams) cuda.cuStreamDestroy(each);
        for (CUevent each : events) cuda.cuEventDestroy(each);
        for (CUdeviceptr each : memory) cuda.cuMemFree(each);
        for (void* each : pinned) cuda.cuMemFreeHost(each);
        cuda.cuCtxSetCurrent(nullptr);
        cuda.cuDevicePrimaryCtxRelease(ordinal);
    }
    CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
        CUstream made = nullptr;
        REQUIRE(cuda.cuStreamCreateWithPriority(&made, flags, 0) == CUDA_SUCCESS);
        streams.push_back(made);
        return made;
    }
    CUevent event() {
        CUevent made = nullptr;
        REQUIRE(cuda.cuEventCreate(&made, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
        events.push_back(made);
        return made;
    }
    CUdeviceptr allocate(std::size_t bytes) {
        CUdeviceptr made = 0;
        REQUIRE(cuda.cuMemAlloc(&made, bytes) == CUDA_SUCCESS);
        memory.push_back(made);
        return made;
    }
    template <class T>
    T* pin(std::size_t count) {
        void* made = nullptr;
        REQUIRE(cuda.cuMemHostAlloc(&made, count * sizeof(T), 0) == CUDA_SUCCESS);
        pinned.push_back(made);
        return static_cast<T*>(made);
    }

    gpu::driver_table cuda;
    int ordinal;
    CUcontext context = nullptr;
    std::vector<CUstream> streams;
    std::vector<CUevent> events;
    std::vector<CUdeviceptr> memory;
    std::vector<void*> pinned;
};

}  // namespace tutti::test
