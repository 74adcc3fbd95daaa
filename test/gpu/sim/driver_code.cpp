// Loading code and launching kernels.
#include "gpu/sim/call.hpp"

using namespace tutti::gpu::sim;

namespace {

loaded_code* code_of(call& here, CUmodule handle) {
    for (const auto& each : here->code) {
        if (reinterpret_cast<CUmodule>(each.get()) != handle || each->home != &here.home()) continue;
        if (!each->unloaded) return each.get();
        here.misuse("of code that was unloaded");
        return nullptr;
    }
    here.misuse("of code that was never loaded into this context");
    return nullptr;
}

function* function_of(call& here, CUfunction handle) {
    for (const auto& each : here->functions)
        if (reinterpret_cast<CUfunction>(each.get()) == handle) return each.get();
    here.misuse("of a kernel that does not exist");
    return nullptr;
}

}  // namespace

CUresult CUDAAPI cuModuleLoadData(CUmodule* handle, const void* image) {
    call here("cuModuleLoadData");
    if (!here) return here.driver_error();
    if (handle == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    here->code.push_back(std::make_unique<loaded_code>(loaded_code{image, &here.home()}));
    *handle = reinterpret_cast<CUmodule>(here->code.back().get());
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleUnload(CUmodule handle) {
    call here("cuModuleUnload");
    loaded_code* const found = code_of(here, handle);
    if (found != nullptr) found->unloaded = true;  // also where its context is lost, and it with it
    if (!here) return here.driver_error();
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    here.waits();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* handle, CUmodule code, const char* name) {
    call here("cuModuleGetFunction");
    if (!here) return here.driver_error();
    loaded_code* const from = code_of(here, code);
    if (from == nullptr || handle == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto found = here->kernels.find(name);
    if (found == here->kernels.end()) return CUDA_ERROR_NOT_FOUND;
    here->functions.push_back(std::make_unique<function>(function{from, &found->second}));
    *handle = reinterpret_cast<CUfunction>(here->functions.back().get());
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction handle, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                                unsigned threads_y, unsigned threads_z, unsigned, CUstream where, void** parameters, void**) {
    call here("cuLaunchKernel");
    if (!here) return here.driver_error();
    const function* const found = function_of(here, handle);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (found->from->unloaded) return here.wrong(CUDA_ERROR_INVALID_HANDLE, "of a kernel whose code was unloaded");
    if (found->from->home != &here.home()) return here.wrong(CUDA_ERROR_INVALID_HANDLE, "of a kernel of another context");
    if (blocks_x * blocks_y * blocks_z == 0 || threads_x * threads_y * threads_z == 0 || threads_x * threads_y * threads_z > 1024)
        return CUDA_ERROR_INVALID_VALUE;
    stream* const target = here.stream_of(where);
    if (target == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    kernel_launch made{{blocks_x, blocks_y, blocks_z}, {threads_x, threads_y, threads_z}, {}};
    for (std::size_t i = 0; i < found->what->parameter_bytes.size(); ++i) {
        const auto* const bytes = static_cast<const std::byte*>(parameters[i]);
        made.parameters.emplace_back(bytes, bytes + found->what->parameter_bytes[i]);
    }
    kernel_work meant = found->what->begin(made);
    for (const touch& each : meant.touches)
        if (!here.reaches(each.address, each.bytes, "memory for a kernel")) return CUDA_ERROR_ILLEGAL_ADDRESS;
    auto launched = std::make_shared<work>();
    launched->kind = work_kind::kernel;
    launched->name = found->what->name;
    launched->length = meant.length;
    launched->body = std::move(meant.body);
    launched->touches = std::move(meant.touches);
    return here->enqueue(*target, std::move(launched));
}
