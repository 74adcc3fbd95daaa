// The testbed of this host: what the driver and NCCL are, and the devices that are there.
#include "gpu/conformance/testbed.hpp"

#include <tutti/gpu/availability.hpp>

namespace device_images {
extern const tutti::gpu::device_image kernels;
}

namespace tutti::test {

struct testbed::machine {};

namespace {

/// Calls a function of the driver's that the library itself has no use for.
template <class Function, class... Words>
CUresult call_driver(const char* name, Words... words) {
    auto* const found = reinterpret_cast<Function>(gpu::symbol_in(gpu::driver().from, name));
    return found != nullptr ? found(words...) : CUDA_ERROR_NOT_FOUND;
}

int device_count() {
    int count = 0;
    return gpu::driver().table.cuDeviceGetCount(&count) == CUDA_SUCCESS ? count : 0;
}

}  // namespace

std::optional<std::string> missing_here(bool nccl) {
    if (const auto& driver = gpu::driver(); !driver) return std::string(driver.why_not->what());
    if (device_count() == 0) return "the driver is there, and shows no device";
    if (nccl && !gpu::nccl()) return std::string(gpu::nccl().why_not->what());
    return {};
}

std::string whereabouts(bool nccl) {
    const auto found = gpu::availability();
    std::string text = "CUDA " + found.driver.version + " (" + found.driver.path + ")";
    if (nccl) text += ", NCCL " + found.nccl.version + " (" + found.nccl.path + ")";
    for (const auto& each : found.devices) text += ", device " + std::to_string(each.ordinal) + ": " + each.name;
    return text;
}

testbed::testbed(int) : cuda_(gpu::driver().table) {}
testbed::~testbed() = default;

const gpu::loaded<gpu::nccl_table>& testbed::nccl_library() const {
    if (!gpu::nccl()) FAIL(std::string(gpu::nccl().why_not->what()));
    return gpu::nccl();
}
int testbed::devices() const { return device_count(); }
gpu::device testbed::open(gpu::device_options options, int ordinal) const { return gpu::device::open(ordinal, options).value(); }
const gpu::device_image& testbed::code() const { return device_images::kernels; }
void testbed::provoke(const std::function<void()>& call) { call(); }

// The names that cuda.h gives these functions by macros.
CUresult testbed::begin_capture(CUstream where, CUstreamCaptureMode mode) const {
    return call_driver<decltype(&::cuStreamBeginCapture)>("cuStreamBeginCapture_v2", where, mode);
}

CUresult testbed::end_capture(CUstream where) const {
    CUgraph captured = nullptr;
    const CUresult code = call_driver<decltype(&::cuStreamEndCapture)>("cuStreamEndCapture", where, &captured);
    if (captured != nullptr) CHECK(call_driver<decltype(&::cuGraphDestroy)>("cuGraphDestroy", captured) == CUDA_SUCCESS);
    return code;
}

}  // namespace tutti::test
