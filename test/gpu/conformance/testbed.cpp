#include "gpu/conformance/testbed.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#ifdef TUTTI_GPU_TESTS_REAL
#include "gpu/libraries.hpp"

#include <tutti/gpu/device_code.hpp>

namespace device_images {
extern const tutti::gpu::device_image kernels;
}
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

const void* testbed::image() const { return device_images::kernels.bytes.data(); }

#else

struct testbed::machine {
    static gpu::sim::options in_real_time() {
        gpu::sim::options how;
        how.engine = gpu::sim::engine::threaded;
        return how;
    }
    gpu::sim::checked_machine simulated{in_real_time()};
};

namespace {

/// As in kernels.cu.
gpu::sim::kernel scaled_numbers(gpu::sim::machine& on) {
    return {"scaled_numbers", {sizeof(CUdeviceptr), sizeof(unsigned), sizeof(unsigned)}, [&on](const gpu::sim::kernel_launch& made) {
                const auto values = made.parameter<CUdeviceptr>(0);
                const auto count = made.parameter<unsigned>(1), factor = made.parameter<unsigned>(2);
                gpu::sim::kernel_work meant;
                meant.length = 5us;
                meant.touches = {{values, count * sizeof(unsigned)}};
                meant.body = [&on, values, count, factor, threads = made.blocks[0] * made.threads[0]] {
                    auto* const out = on.shadow_of<unsigned>(values);
                    for (unsigned i = 0; i < std::min(count, threads); ++i) out[i] = factor * i;
                };
                return meant;
            }};
}

}  // namespace

testbed::testbed() : machine_(std::make_unique<machine>()), cuda_(machine_->simulated.driver()), nccl_(machine_->simulated.nccl()) {
    machine_->simulated.offer(scaled_numbers(machine_->simulated));
}

const void* testbed::image() const { return "a simulated device takes any"; }

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
