#include "gpu/conformance/testbed.hpp"

#include <chrono>
#include <thread>

#ifdef TUTTI_GPU_TESTS_REAL
#include <dlfcn.h>
#else
#include "gpu/sim/checked_machine.hpp"
#endif

namespace tutti::test {

using namespace std::chrono_literals;

#ifdef TUTTI_GPU_TESTS_REAL

struct testbed::machine {};

namespace {

void* open(const char* name) {
    void* const found = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (found == nullptr) FAIL(::dlerror());
    return found;
}

}  // namespace

// In text the macros of cuda.h have given the symbols their new names.
#define TUTTI_TEXT(symbol) #symbol
#define TUTTI_LOAD(symbol) filled.symbol = reinterpret_cast<decltype(filled.symbol)>(::dlsym(from, TUTTI_TEXT(symbol)));
#define TUTTI_LOAD_REQUIRED(symbol) TUTTI_LOAD(symbol) if (filled.symbol == nullptr) FAIL("there is no " TUTTI_TEXT(symbol));

testbed::testbed() {
    const auto load_driver = [](void* from) {
        gpu::driver_table filled;
        TUTTI_DRIVER_SYMBOLS(TUTTI_LOAD_REQUIRED)
        TUTTI_OPTIONAL_DRIVER_SYMBOLS(TUTTI_LOAD)
        return filled;
    };
    const auto load_nccl = [](void* from) {
        gpu::nccl_table filled;
        TUTTI_NCCL_SYMBOLS(TUTTI_LOAD_REQUIRED)
        TUTTI_OPTIONAL_NCCL_SYMBOLS(TUTTI_LOAD)
        return filled;
    };
    cuda_ = load_driver(open("libcuda.so.1"));
    nccl_ = load_nccl(open("libnccl.so.2"));
    REQUIRE(cuda_.cuInit(0) == CUDA_SUCCESS);
}

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
