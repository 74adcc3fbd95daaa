// Memory a device can reach. An address of device memory cannot be touched by the host: it traps; the bytes lie elsewhere, in a shadow.
// Addresses are never given out twice, so a use after a free is found.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <map>
#include <string>

namespace tutti::gpu::sim {

struct allocation {
    enum class kind { device, pinned, registered };
    kind what = kind::device;
    std::size_t bytes = 0;
    int device = 0;
    std::byte* shadow = nullptr;  // of pinned memory: itself
    bool freed = false;
    std::string freed_by;  // the thread
};

class memory {
public:
    memory() = default;
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory();

    /// 0 where there is no room.
    CUdeviceptr make(allocation::kind what, int device, std::size_t bytes, std::size_t room);
    bool enter(const void* host, std::size_t bytes, int device);
    void free(CUdeviceptr address, std::string thread);

    /// Returns the allocation that holds the address, freed or not; null where there is none.
    allocation* find(CUdeviceptr address);
    CUdeviceptr base_of(CUdeviceptr address) const;
    /// Where the bytes really are; `address` is in an allocation, or any host memory.
    std::byte* shadow(CUdeviceptr address);
    std::size_t used(int device) const;
    const std::map<CUdeviceptr, allocation>& all() const { return all_; }

private:
    std::map<CUdeviceptr, allocation> all_;
};

}  // namespace tutti::gpu::sim
