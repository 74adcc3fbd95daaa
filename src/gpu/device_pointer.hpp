// Whether memory is where a device's collectives need it.
#pragma once

#include "gpu/device_state.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tutti::gpu {

/// Nothing when it is memory of this device; else what it is, in words. `role` is "input" or "output".
std::optional<std::string> check_device_memory(const device_state& card, std::string_view role, const void* where);

}  // namespace tutti::gpu
