// Checks that a buffer is in memory of a device.
#pragma once

#include "gpu/device_state.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tutti::gpu {

/// Returns nothing if it is memory of this device, else a description of the memory for a message. `role` is "input" or "output".
std::optional<std::string> check_device_memory(const device_state& card, std::string_view role, const void* where);

}  // namespace tutti::gpu
