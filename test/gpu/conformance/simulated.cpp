// The testbed of a simulated machine.
#include "gpu/conformance/testbed.hpp"
#include "gpu/device_state.hpp"
#include "gpu/sim/checked_machine.hpp"

#include <algorithm>
#include <chrono>

namespace tutti::test {

using namespace std::chrono_literals;

struct testbed::machine {
    static gpu::sim::options in_real_time(int devices) {
        gpu::sim::options how;
        how.engine = gpu::sim::engine::threaded;
        how.devices = devices;
        how.polls = 3;
        return how;
    }
    explicit machine(int devices) : simulated(in_real_time(devices)) { nccl.table = simulated.nccl(); }
    gpu::sim::checked_machine simulated;
    gpu::loaded<gpu::nccl_table> nccl;
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

gpu::sim::kernel written_nowhere(gpu::sim::machine& on) {
    return {"written_nowhere", {sizeof(CUdeviceptr)}, [&on](const gpu::sim::kernel_launch&) {
                gpu::sim::kernel_work meant;
                meant.length = 5us;
                meant.body = [&on] { on.fault(0, CUDA_ERROR_ILLEGAL_ADDRESS); };
                return meant;
            }};
}

constexpr std::byte any_bytes[16]{};  // a simulated device takes any
constexpr gpu::device_image any_code{"kernels.cu", any_bytes};

}  // namespace

std::optional<std::string> missing_here(bool) { return {}; }
std::string whereabouts(bool) { return "simulated devices and a simulated NCCL"; }

testbed::testbed(int devices) : machine_(std::make_unique<machine>(devices)), cuda_(machine_->simulated.driver()) {
    machine_->simulated.offer(scaled_numbers(machine_->simulated));
    machine_->simulated.offer(written_nowhere(machine_->simulated));
}

testbed::~testbed() {
    // A device's own threads give it back.
    CHECK(eventually([this] {
        return machine_->simulated.calls("cuDevicePrimaryCtxRelease") == machine_->simulated.calls("cuDevicePrimaryCtxRetain");
    }));
}

const gpu::loaded<gpu::nccl_table>& testbed::nccl_library() const { return machine_->nccl; }
int testbed::devices() const { return machine_->simulated.how().devices; }
gpu::device testbed::open(gpu::device_options options, int ordinal) const { return gpu::open_device(cuda_, ordinal, options).value(); }
const gpu::device_image& testbed::code() const { return any_code; }

void testbed::provoke(const std::function<void()>& call) {
    CHECK(machine_->simulated.take_misuse().empty());
    call();
    CHECK(machine_->simulated.take_misuse().size() == 1);
}

CUresult testbed::begin_capture(CUstream where, CUstreamCaptureMode mode) const { return machine_->simulated.begin_capture(where, mode); }
CUresult testbed::end_capture(CUstream where) const { return machine_->simulated.end_capture(where); }

}  // namespace tutti::test
