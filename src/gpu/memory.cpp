// Memory of a device, which is freed on the lifecycle's thread, because a free may wait for the device.
#include "gpu/device_state.hpp"

#include <tutti/gpu/device_buffer.hpp>
#include <tutti/gpu/pinned_buffer.hpp>

#include <fmt/format.h>

#include <limits>
#include <optional>

namespace tutti::gpu {
namespace {

CUdeviceptr device_address(const void* memory) noexcept { return reinterpret_cast<CUdeviceptr>(memory); }

std::optional<failure> refuse_size(std::size_t count, std::size_t element_bytes) {
    if (element_bytes == 0) return failure(error::invalid_argument, fmt::format("{} elements of 0 bytes", count));
    if (count <= static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / element_bytes) return {};
    return failure(error::invalid_argument, fmt::format("{} elements of {} bytes are more than memory can hold", count, element_bytes));
}

}  // namespace

result<std::shared_ptr<void>> allocate_device_memory(const device& where, std::size_t count, std::size_t element_bytes) {
    if (count == 0) return std::shared_ptr<void>();
    if (auto refused = refuse_size(count, element_bytes)) return *refused;
    CUdeviceptr made = 0;
    const auto done =
        where.inner()->call("cuMemAlloc", [&](const driver_table& driver) { return driver.cuMemAlloc(&made, count * element_bytes); });
    if (!done) return done.failure();
    return std::shared_ptr<void>(reinterpret_cast<void*>(made), [card = where.inner()](void* memory) {
        card->lifecycle().later("cuMemFree", [card = card.get(), memory] {
            const on_device here(card->driver(), card->context());
            card->driver().cuMemFree(device_address(memory));
        });
    });
}

result<std::shared_ptr<void>> allocate_pinned_memory(const device& where, std::size_t count, std::size_t element_bytes) {
    if (count == 0) return std::shared_ptr<void>();
    if (auto refused = refuse_size(count, element_bytes)) return *refused;
    void* made = nullptr;
    const auto done = where.inner()->call("cuMemHostAlloc", [&](const driver_table& driver) {
        return driver.cuMemHostAlloc(&made, count * element_bytes, CU_MEMHOSTALLOC_PORTABLE);
    });
    if (!done) return done.failure();
    return std::shared_ptr<void>(made, [card = where.inner()](void* memory) {
        card->lifecycle().later("cuMemFreeHost", [card = card.get(), memory] {
            const on_device here(card->driver(), card->context());
            card->driver().cuMemFreeHost(memory);
        });
    });
}

}  // namespace tutti::gpu
