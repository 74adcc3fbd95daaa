#include "gpu/device_pointer.hpp"

#include <fmt/format.h>

namespace tutti::gpu {

std::optional<std::string> check_device_memory(const device_state& card, std::string_view role, const void* where) {
    const driver_table& driver = card.driver();
    const auto address = reinterpret_cast<CUdeviceptr>(where);
    unsigned kind = 0, managed = 0;
    int ordinal = -1;
    if (driver.cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS)
        return fmt::format("the {} is memory of the host, of which the driver does not know; memory of device {} is expected", role,
                           card.ordinal());
    if (kind != CU_MEMORYTYPE_DEVICE)
        return fmt::format("the {} is pinned memory of the host; memory of device {} is expected", role, card.ordinal());
    // Managed memory is wherever it is used.
    if (driver.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == CUDA_SUCCESS && managed) return {};
    if (driver.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS && ordinal != card.ordinal())
        return fmt::format("the {} is memory of device {}; memory of device {} is expected", role, ordinal, card.ordinal());
    return {};
}

}  // namespace tutti::gpu
