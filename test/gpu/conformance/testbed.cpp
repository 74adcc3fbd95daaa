#include "gpu/conformance/testbed.hpp"

#include <chrono>
#include <thread>

#ifdef TUTTI_GPU_TESTS_REAL
#include "gpu/libraries.hpp"
#else
#include "gpu/sim/checked_machine.hpp"
#endif

namespace tutti::test {

using namespace std::chrono_literals;

#ifdef TUTTI_GPU_TESTS_REAL

struct testbed::machine {};

namespace {

template <class Table>
const Table& table_of(const gpu::loaded<Table>& found) {
    if (!found) FAIL(std::string(found.why_not->what()));
    return found.table;
}

}  // namespace

testbed::testbed() : cuda_(table_of(gpu::driver())), nccl_(table_of(gpu::nccl())) {}

void testbed::provoke(const std::function<void()>& call) { call(); }

#else

struct testbed::machine {
    static gpu::sim::options in_real_time() {
        gpu::sim::options how;
        how.engine = gpu::sim::engine::threaded;
        return how;
    }
    gpu::sim::checked_machine simulated{in_real_time()};
};

testbed::testbed() : machine_(std::make_unique<machine>()), cuda_(machine_->simulated.driver()), nccl_(machine_->simulated.nccl()) {}

void testbed::provoke(const std::function<void()>& call) {
    CHECK(machine_->simulated.take_misuse().empty());
    call();
    CHECK(machine_->simulated.take_misuse().size() == 1);
}

#endif

testbed::~testbed() = default;

bool testbed::eventually(const std::function<bool()>& what) const {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!what()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

ncclResult_t testbed::settled(ncclComm_t comm) const {
    ncclResult_t state = ncclInProgress;
    eventually([&] { return nccl_.ncclCommGetAsyncError(comm, &state) != ncclSuccess || state != ncclInProgress; });
    return state;
}

gate::gate(const testbed& bed, CUstream where) : bed_(bed) {
    REQUIRE(bed.cuda().cuLaunchHostFunc(where, &gate::hold, &latch_) == CUDA_SUCCESS);
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
