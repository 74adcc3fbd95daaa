// What the conformance tests run on: the tables of a simulated machine in real time, or with -Dgpu_tests=real those of this host.
#pragma once

#include "gpu/device.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace tutti::test {

class testbed {
public:
    testbed();
    ~testbed();

    const gpu::driver_table& cuda() const { return cuda_; }
    const gpu::nccl_table& nccl() const { return nccl_; }
    /// The call that comes is wrong on purpose: a simulator says so, a real driver just refuses it.
    void provoke(const std::function<void()>& call);
    /// Code to load, with the kernels of kernels.cu.
    const void* image() const;
    /// False after ten seconds of waiting for it.
    bool eventually(const std::function<bool()>& what) const;
    /// Until it is in progress no more; ncclInProgress after ten seconds.
    ncclResult_t settled(ncclComm_t comm) const;

private:
    struct machine;
    std::unique_ptr<machine> machine_;
    gpu::driver_table cuda_;
    gpu::nccl_table nccl_;
};

/// Holds up a stream until it is opened: a host function that waits.
class gate {
public:
    gate(const testbed& bed, CUstream where);
    ~gate() { open(); }
    /// Work behind it can run from now on.
    void open();

private:
    struct latch {
        std::atomic<bool> open = false;
        std::atomic<bool> passed = false;
    };
    static void hold(void* data);
    const testbed& bed_;
    latch latch_;
};

}  // namespace tutti::test
