// Owned device memory. The host cannot access it.
#pragma once

#include <tutti/detail/compiler.hpp>
#include <tutti/gpu/device.hpp>
#include <tutti/gpu/memory_part.hpp>
#include <tutti/result.hpp>
#include <tutti/types.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

/// Allocates uninitialized device memory. Null for no elements; error::invalid_argument for more than memory can hold.
TUTTI_API result<std::shared_ptr<void>> allocate_device_memory(const device& where, std::size_t count, std::size_t element_bytes = 1);

/// Owned device memory. A thread of the device's frees it when this object and all operations with it are gone.
template <transferable T>
class device_buffer {
public:
    /// Allocates `count` elements, which are not initialized.
    static result<device_buffer> allocate(const device& where, std::size_t count) {
        auto memory = allocate_device_memory(where, count, sizeof(T));
        if (!memory) return memory.failure();
        return device_buffer(std::move(*memory), count);
    }

    /// Returns an address on the device.
    T* data() const noexcept { return static_cast<T*>(memory_.get()); }
    std::size_t size() const noexcept { return count_; }
    std::size_t bytes() const noexcept { return count_ * sizeof(T); }
    keep_alive keep() const noexcept { return memory_; }

    /// All of it, or some elements; they are not accessed.
    operator device_part() const { return {memory_.get(), bytes(), memory_}; }
    device_part part(std::size_t first, std::size_t count) const { return {data() + first, count * sizeof(T), memory_}; }

private:
    device_buffer(std::shared_ptr<void> memory, std::size_t count) noexcept : memory_(std::move(memory)), count_(count) {}

    std::shared_ptr<void> memory_;
    std::size_t count_;
};

}  // namespace gpu
}  // namespace tutti
