// Owned host memory that devices read and write directly.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/gpu/device.hpp>
#include <tutti/gpu/memory_part.hpp>
#include <tutti/result.hpp>
#include <tutti/types.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

/// Allocates host memory for all devices of this process. Null for no elements; error::invalid_argument for more than memory can hold.
TUTTI_API result<std::shared_ptr<void>> allocate_pinned_memory(const device& where, std::size_t count, std::size_t element_bytes = 1);

/// Owned pinned memory. A thread of the device's frees it when this object and all operations with it are gone.
template <transferable T>
class pinned_buffer {
public:
    /// Allocates `count` uninitialized elements.
    static result<pinned_buffer> allocate(const device& where, std::size_t count) {
        auto memory = allocate_pinned_memory(where, count, sizeof(T));
        if (!memory) return memory.failure();
        return pinned_buffer(std::move(*memory), count);
    }

    T* data() const noexcept { return static_cast<T*>(memory_.get()); }
    std::size_t size() const noexcept { return count_; }
    std::size_t bytes() const noexcept { return count_ * sizeof(T); }
    std::span<T> values() const noexcept { return {data(), count_}; }
    T& operator[](std::size_t index) const noexcept { return data()[index]; }
    keep_alive keep() const noexcept { return memory_; }

    /// All of it, or some elements; they are not accessed.
    operator host_part() const { return {memory_.get(), bytes(), memory_}; }
    host_part part(std::size_t first, std::size_t count) const { return {data() + first, count * sizeof(T), memory_}; }

private:
    pinned_buffer(std::shared_ptr<void> memory, std::size_t count) noexcept : memory_(std::move(memory)), count_(count) {}

    std::shared_ptr<void> memory_;
    std::size_t count_;
};

}  // namespace gpu
}  // namespace tutti
