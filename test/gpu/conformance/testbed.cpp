// The part that simulated and real machines have in common; the rest is in simulated.cpp and real.cpp, of which a build has one.
#include "gpu/conformance/testbed.hpp"

#include "gpu/device_state.hpp"

#include <chrono>
#include <thread>

namespace tutti::test {

bool testbed::eventually(const std::function<bool()>& what) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!what()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

ncclResult_t testbed::settled(ncclComm_t comm) const {
    ncclResult_t state = ncclInProgress;
    eventually([&] { return nccl().ncclCommGetAsyncError(comm, &state) != ncclSuccess || state != ncclInProgress; });
    return state;
}

gate::gate(const testbed& bed, CUstream where) : bed_(bed) {
    REQUIRE(bed.cuda().cuLaunchHostFunc(where, &gate::hold, &latch_) == CUDA_SUCCESS);
}

gate::gate(const testbed& bed, const gpu::stream& where) : bed_(bed) {
    const gpu::on_device here(bed.cuda(), where.on().inner()->context());
    REQUIRE(bed.cuda().cuLaunchHostFunc(where.handle(), &gate::hold, &latch_) == CUDA_SUCCESS);
}

void gate::open() {
    latch_.open = true;
    latch_.open.notify_all();
    CHECK(bed_.eventually([this] { return latch_.passed.load(); }));  // the latch is not looked at any more
}

void gate::hold(void* data) {
    auto& held = *static_cast<latch*>(data);
    held.open.wait(false);
    held.passed = true;
}

}  // namespace tutti::test
