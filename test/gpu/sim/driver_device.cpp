// Devices and their primary contexts.
#include "gpu/sim/call.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace tutti::gpu::sim;

namespace {

struct error_text {
    CUresult code;
    const char* name;
    const char* text;
};
#define TUTTI_SIM_ERROR(code, text) \
    { code, #code, text }
constexpr error_text error_texts[] = {
    TUTTI_SIM_ERROR(CUDA_SUCCESS, "no error"),
    TUTTI_SIM_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    TUTTI_SIM_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    TUTTI_SIM_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    TUTTI_SIM_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    TUTTI_SIM_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    TUTTI_SIM_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    TUTTI_SIM_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    TUTTI_SIM_ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
    TUTTI_SIM_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    TUTTI_SIM_ERROR(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    TUTTI_SIM_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    TUTTI_SIM_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    TUTTI_SIM_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    TUTTI_SIM_ERROR(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    TUTTI_SIM_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    TUTTI_SIM_ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped"),
    TUTTI_SIM_ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region"),
    TUTTI_SIM_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    TUTTI_SIM_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture"),
    TUTTI_SIM_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream"),
    TUTTI_SIM_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "operation would make the legacy stream depend on a capturing blocking stream"),
    TUTTI_SIM_ERROR(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream"),
    TUTTI_SIM_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};
#undef TUTTI_SIM_ERROR

const error_text* text_of(CUresult code) {
    const auto* const found =
        std::find_if(std::begin(error_texts), std::end(error_texts), [code](const auto& each) { return each.code == code; });
    return found == std::end(error_texts) ? nullptr : found;
}

context* context_of(call& here, CUdevice device) {
    if (device >= 0 && device < here->how.devices) return here->contexts[static_cast<std::size_t>(device)].get();
    return nullptr;
}

}  // namespace

CUresult CUDAAPI cuGetErrorName(CUresult error, const char** text) {
    const error_text* const found = text_of(error);
    *text = found ? found->name : nullptr;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char** text) {
    const error_text* const found = text_of(error);
    *text = found ? found->text : nullptr;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuInit(unsigned int) {
    call here("cuInit", call::nothing);
    if (!here) return here.driver_error();
    return here->how.devices == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
    call here("cuDriverGetVersion", call::nothing);
    *version = here->how.driver_version;
    return here.driver_error();
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
    call here("cuDeviceGetCount", call::nothing);
    *count = here->how.devices;
    return here.driver_error();
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
    call here("cuDeviceGet", call::nothing);
    if (!here) return here.driver_error();
    if (context_of(here, ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute what, CUdevice device) {
    call here("cuDeviceGetAttribute", call::nothing);
    if (!here) return here.driver_error();
    if (context_of(here, device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    switch (what) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = here->how.capability / 10; break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = here->how.capability % 10; break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
        case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *value = 1; break;
        case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: *value = 2; break;
        case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: *value = 0; break;
        case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = device + 1; break;
        default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice device) {
    call here("cuDeviceGetName", call::nothing);
    if (!here) return here.driver_error();
    if (context_of(here, device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(name, static_cast<std::size_t>(length), "simulated device %d", device);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid* id, CUdevice device) {
    call here("cuDeviceGetUuid", call::nothing);
    if (!here) return here.driver_error();
    if (context_of(here, device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    std::memset(id->bytes, 0x51, sizeof id->bytes);
    id->bytes[15] = static_cast<char>(device);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
    call here("cuDeviceGetPCIBusId", call::nothing);
    if (!here) return here.driver_error();
    if (context_of(here, device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    std::snprintf(id, static_cast<std::size_t>(length), "0000:%02X:00.0", static_cast<unsigned>(device) + 1);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
    call here("cuDevicePrimaryCtxRetain", call::nothing);
    if (!here) return here.driver_error();
    context* const found = context_of(here, device);
    if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    ++found->retained;
    *handle = reinterpret_cast<CUcontext>(found);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
    call here("cuDevicePrimaryCtxRelease", call::nothing);
    if (!here) return here.driver_error();
    context* const found = context_of(here, device);
    if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (found->retained == 0) return here.wrong(CUDA_ERROR_INVALID_CONTEXT, "of a context that is not retained");
    --found->retained;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext handle) {
    call here("cuCtxSetCurrent", call::nothing);
    if (!here) return here.driver_error();
    if (handle != nullptr && here->context_of(handle) == nullptr) return here.wrong(CUDA_ERROR_INVALID_CONTEXT, "with what is no context");
    here->self().current = handle;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* handle) {
    call here("cuCtxGetCurrent", call::nothing);
    if (!here) return here.driver_error();
    *handle = here->self().current;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    call here("cuCtxGetStreamPriorityRange");
    if (!here) return here.driver_error();
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return CUDA_SUCCESS;
}
