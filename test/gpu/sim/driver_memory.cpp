// Memory, and copies between host and device.
#include "gpu/sim/call.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

using namespace tutti::gpu::sim;

namespace {

CUdeviceptr address_of(const void* host) { return reinterpret_cast<std::uintptr_t>(host); }

CUresult give(call& here, CUdeviceptr address, allocation::kind what) {
    const allocation* const found = here->memory.find(address);
    if (found == nullptr || here->memory.base_of(address) != address || found->what != what)
        return here.wrong(CUDA_ERROR_INVALID_VALUE, "of an address where no such memory begins");
    if (found->freed) return here.wrong(CUDA_ERROR_INVALID_VALUE, "of memory that " + found->freed_by + " has freed before");
    if (const std::string user = here->user_of(address, found->bytes); !user.empty())
        here.misuse("of " + std::to_string(found->bytes) + " bytes that " + user + " still uses");
    if (what == allocation::kind::device) here->drain(here.lock(), here.name(), here.home());
    here->memory.free(address, here->this_thread());
    return CUDA_SUCCESS;
}

bool is_device(call& here, CUdeviceptr address) {
    const allocation* const found = here->memory.find(address);
    return found != nullptr && found->what == allocation::kind::device;
}

// Device memory that a copy or a fill names.
bool on_device(call& here, CUdeviceptr address, std::size_t bytes, const char* role) {
    if (!here.reaches(address, bytes, role)) return false;
    if (bytes == 0 || is_device(here, address)) return true;
    here.misuse(std::string("with a ") + role + " that is host memory");
    return false;
}

enum class host_memory { pinned, pageable, none };

// Whether it is pinned as far as the bytes go. Pageable is misuse too, but the copy is made.
host_memory kind_of(call& here, CUdeviceptr address, std::size_t bytes, const char* role) {
    const allocation* const found = here->memory.find(address);
    if (found != nullptr && !found->freed && !is_device(here, address))
        return here.reaches(address, bytes, role) ? host_memory::pinned : host_memory::none;
    here.misuse(std::string("with a ") + role + " in pageable memory: the copy is not asynchronous");
    return host_memory::pageable;
}

CUresult copy(call& here, CUdeviceptr target, CUdeviceptr source, std::size_t bytes, CUstream handle, const char* name,
              tutti::time_point* engine, bool source_is_staged = false) {
    stream* const where = here.stream_of(handle);
    if (where == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    machine::state& on = here.on();
    auto made = std::make_shared<work>();
    made->kind = work_kind::copy;
    made->name = name;
    made->bytes = bytes;
    made->length = on.how.copy.of(bytes);
    made->engine_free = engine;
    for (const CUdeviceptr each : {target, source})
        if (bytes > 0 && on.memory.find(each) != nullptr) made->touches.push_back({each, bytes});
    std::byte* const to = on.memory.shadow(target);
    const std::byte* const from = on.memory.shadow(source);
    if (source_is_staged)
        made->body = [to, staged = std::vector<std::byte>(from, from + bytes)] { std::copy(staged.begin(), staged.end(), to); };
    else
        made->body = [to, from, bytes] {
            if (bytes > 0) std::memmove(to, from, bytes);
        };
    return on.enqueue(*where, std::move(made));
}

/// A copy to pageable memory has been made when the call returns.
CUresult until_copied(call& here, CUstream handle, CUresult enqueued) {
    if (enqueued != CUDA_SUCCESS) return enqueued;
    const stream& where = *here.stream_of(handle);
    if (where.capture) return enqueued;
    here.waits();
    const context& home = here.home();
    const auto last = where.last;
    here->wait(here.lock(), here.name() + " on " + here->name_of(where),
               [&home, last] { return home.fault != CUDA_SUCCESS || last->done; });
    return home.fault != CUDA_SUCCESS ? home.fault : last->done ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

}  // namespace

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, size_t bytes) {
    call here("cuMemAlloc", call::a_context | call::safety);
    if (!here) return here.driver_error();
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    *address = here->memory.make(allocation::kind::device, here.home().device, bytes, here->how.device_bytes);
    return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
    call here("cuMemFree", call::a_context | call::safety);
    if (here.driver_error() != CUDA_SUCCESS && is_device(here, address)) here->memory.free(address, here->this_thread());
    if (!here) return here.driver_error();
    if (address == 0) return CUDA_SUCCESS;
    here.waits();
    return give(here, address, allocation::kind::device);
}

CUresult CUDAAPI cuMemHostAlloc(void** host, size_t bytes, unsigned int) {
    call here("cuMemHostAlloc", call::a_context | call::safety);
    if (!here) return here.driver_error();
    if (host == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    *host = reinterpret_cast<void*>(here->memory.make(allocation::kind::pinned, here.home().device, bytes, 0));
    return *host == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFreeHost(void* host) {
    call here("cuMemFreeHost", call::a_context | call::safety);
    if (here.driver_error() != CUDA_SUCCESS && here->memory.find(address_of(host)) != nullptr)
        here->memory.free(address_of(host), here->this_thread());
    if (!here) return here.driver_error();
    here.waits();
    return give(here, address_of(host), allocation::kind::pinned);
}

CUresult CUDAAPI cuMemHostRegister(void* host, size_t bytes, unsigned int) {
    call here("cuMemHostRegister", call::a_context | call::safety);
    if (!here) return here.driver_error();
    if (host == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    return here->memory.enter(host, bytes, here.home().device) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult CUDAAPI cuMemHostUnregister(void* host) {
    call here("cuMemHostUnregister", call::a_context | call::safety);
    if (!here) return here.driver_error();
    if (here->memory.find(address_of(host)) == nullptr) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return give(here, address_of(host), allocation::kind::registered);
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned int) {
    call here("cuMemHostGetDevicePointer");
    if (!here) return here.driver_error();
    const allocation* const found = here->memory.find(address_of(host));
    if (found == nullptr || found->freed || found->what == allocation::kind::device) return CUDA_ERROR_INVALID_VALUE;
    *address = address_of(host);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr target, const void* source, size_t bytes, CUstream where) {
    call here("cuMemcpyHtoDAsync");
    if (!here) return here.driver_error();
    if (!on_device(here, target, bytes, "target")) return CUDA_ERROR_INVALID_VALUE;
    const host_memory kind = kind_of(here, address_of(source), bytes, "source");
    if (kind == host_memory::none) return CUDA_ERROR_INVALID_VALUE;
    return copy(here, target, address_of(source), bytes, where, "host to device", &here.home().engine_in, kind == host_memory::pageable);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void* target, CUdeviceptr source, size_t bytes, CUstream where) {
    call here("cuMemcpyDtoHAsync");
    if (!here) return here.driver_error();
    if (!on_device(here, source, bytes, "source")) return CUDA_ERROR_INVALID_VALUE;
    const host_memory kind = kind_of(here, address_of(target), bytes, "target");
    if (kind == host_memory::none) return CUDA_ERROR_INVALID_VALUE;
    const CUresult enqueued = copy(here, address_of(target), source, bytes, where, "device to host", &here.home().engine_out);
    return kind == host_memory::pageable ? until_copied(here, where, enqueued) : enqueued;
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream where) {
    call here("cuMemcpyDtoDAsync");
    if (!here) return here.driver_error();
    if (!on_device(here, source, bytes, "source") || !on_device(here, target, bytes, "target")) return CUDA_ERROR_INVALID_VALUE;
    return copy(here, target, source, bytes, where, "device to device", nullptr);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t bytes, CUstream handle) {
    call here("cuMemsetD8Async");
    if (!here) return here.driver_error();
    if (!on_device(here, target, bytes, "target")) return CUDA_ERROR_INVALID_VALUE;
    stream* const where = here.stream_of(handle);
    if (where == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    auto made = std::make_shared<work>();
    made->kind = work_kind::fill;
    made->name = "fill";
    made->bytes = bytes;
    made->length = here->how.fill.of(bytes);
    if (bytes > 0) made->touches.push_back({target, bytes});
    std::byte* const to = here->memory.shadow(target);
    made->body = [to, value, bytes] {
        if (bytes > 0) std::memset(to, value, bytes);
    };
    return here->enqueue(*where, std::move(made));
}

CUresult CUDAAPI cuStreamWriteValue32(CUstream handle, CUdeviceptr target, cuuint32_t value, unsigned int) {
    call here("cuStreamWriteValue32");
    if (!here) return here.driver_error();
    stream* const where = here.stream_of(handle);
    if (where == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (!here.reaches(target, sizeof value, "target")) return CUDA_ERROR_INVALID_VALUE;
    auto made = std::make_shared<work>();
    made->kind = work_kind::fill;
    made->name = "write of a value";
    made->bytes = sizeof value;
    made->touches.push_back({target, sizeof value});
    auto* const to = reinterpret_cast<cuuint32_t*>(here->memory.shadow(target));
    made->body = [to, value] { std::atomic_ref<cuuint32_t>(*to).store(value, std::memory_order_release); };
    return here->enqueue(*where, std::move(made));
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream where) {
    call here("cuMemAllocAsync");
    if (!here) return here.driver_error();
    if (address == nullptr || bytes == 0 || here.stream_of(where) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *address = here->memory.make(allocation::kind::device, here.home().device, bytes, here->how.device_bytes);
    return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    call here("cuMemFreeAsync");
    if (!here) return here.driver_error();
    stream* const where = here.stream_of(handle);
    const allocation* const found = here->memory.find(address);
    if (where == nullptr || found == nullptr || found->freed || here->memory.base_of(address) != address)
        return here.wrong(CUDA_ERROR_INVALID_VALUE, "of an address where no memory begins");
    auto made = std::make_shared<work>();
    made->kind = work_kind::free;
    made->name = "free";
    made->settle = [&on = here.on(), address, thread = here->this_thread()] { on.memory.free(address, thread); };
    return here->enqueue(*where, std::move(made));
}

CUresult CUDAAPI cuPointerGetAttribute(void* value, CUpointer_attribute what, CUdeviceptr address) {
    call here("cuPointerGetAttribute", call::nothing);
    if (!here) return here.driver_error();
    const allocation* const found = here->memory.find(address);
    if (found == nullptr || found->freed) return CUDA_ERROR_INVALID_VALUE;
    const bool device = found->what == allocation::kind::device;
    const auto put = [value](auto answer) {
        std::memcpy(value, &answer, sizeof answer);
        return CUDA_SUCCESS;
    };
    switch (what) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return put(static_cast<unsigned>(device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST));
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return put(found->device);
        case CU_POINTER_ATTRIBUTE_IS_MANAGED: return put(0u);
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return put(address);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER: return device ? CUDA_ERROR_INVALID_VALUE : put(reinterpret_cast<void*>(address));
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return put(reinterpret_cast<CUcontext>(here->contexts[static_cast<std::size_t>(found->device)].get()));
        default: return CUDA_ERROR_NOT_SUPPORTED;
    }
}
