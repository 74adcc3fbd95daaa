#include "gpu/sim/memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

namespace tutti::gpu::sim {
namespace {

constexpr std::size_t page = 4096;

std::size_t in_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

void* map(std::size_t bytes, int protection) {
    void* const made = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return made == MAP_FAILED ? nullptr : made;
}

CUdeviceptr address_of(const void* where) { return reinterpret_cast<std::uintptr_t>(where); }
void* pointer_to(CUdeviceptr where) { return reinterpret_cast<void*>(where); }

}  // namespace

memory::~memory() {
    for (auto& [address, each] : all_) {
        if (each.what == allocation::kind::registered) continue;
        ::munmap(pointer_to(address), in_pages(each.bytes) + page);
        if (each.what == allocation::kind::device) ::munmap(each.shadow, in_pages(each.bytes));
    }
}

CUdeviceptr memory::make(allocation::kind what, int device, std::size_t bytes, std::size_t room) {
    const bool on_device = what == allocation::kind::device;
    if (on_device && bytes > room - used(device)) return 0;
    // Behind it lies a page that no access may touch.
    void* const address = map(in_pages(bytes) + page, PROT_NONE);
    if (address == nullptr) return 0;
    allocation made;
    made.what = what;
    made.bytes = bytes;
    made.device = device;
    if (on_device) {
        made.shadow = static_cast<std::byte*>(map(in_pages(bytes), PROT_READ | PROT_WRITE));
    } else {
        made.shadow = static_cast<std::byte*>(address);
        ::mprotect(address, in_pages(bytes), PROT_READ | PROT_WRITE);
    }
    all_[address_of(address)] = made;
    return address_of(address);
}

bool memory::enter(const void* host, std::size_t bytes, int device) {
    const CUdeviceptr address = address_of(host);
    const auto next = all_.lower_bound(address);
    if (next != all_.end() && !next->second.freed && next->first < address + bytes) return false;
    const allocation* before = find(address);
    if (before != nullptr && !before->freed) return false;
    allocation made;
    made.what = allocation::kind::registered;
    made.bytes = bytes;
    made.device = device;
    made.shadow = static_cast<std::byte*>(pointer_to(address));
    all_[address] = made;
    return true;
}

void memory::free(CUdeviceptr address, std::string thread) {
    allocation& old = all_.at(address);
    if (old.what == allocation::kind::registered) {
        all_.erase(address);  // the memory is the user's and may be registered again
        return;
    }
    old.freed = true;
    old.freed_by = std::move(thread);
    // The pages go back. Pinned memory traps from now on; a shadow stays readable for work that is in the middle of it.
    if (old.what == allocation::kind::device) ::madvise(old.shadow, in_pages(old.bytes), MADV_DONTNEED);
    else ::mmap(pointer_to(address), in_pages(old.bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

allocation* memory::find(CUdeviceptr address) {
    auto next = all_.upper_bound(address);
    if (next == all_.begin()) return nullptr;
    --next;
    return address < next->first + (next->second.bytes == 0 ? 1 : next->second.bytes) ? &next->second : nullptr;
}

CUdeviceptr memory::base_of(CUdeviceptr address) const { return std::prev(all_.upper_bound(address))->first; }

std::byte* memory::shadow(CUdeviceptr address) {
    allocation* const found = find(address);
    if (found == nullptr) return static_cast<std::byte*>(pointer_to(address));
    return found->shadow + (address - base_of(address));
}

std::size_t memory::used(int device) const {
    std::size_t all = 0;
    for (const auto& [address, each] : all_)
        if (each.what == allocation::kind::device && each.device == device && !each.freed) all += each.bytes;
    return all;
}

}  // namespace tutti::gpu::sim
