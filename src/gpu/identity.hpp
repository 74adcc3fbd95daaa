// The names of the device that has an ordinal number.
#pragma once

#include "gpu/tables.hpp"

#include <tutti/result.hpp>

#include <string>

namespace tutti::gpu {

struct identity {
    CUdevice handle = 0;
    std::string name;  // "NVIDIA H200"
    std::string uuid;  // "GPU-", then as usual
    std::string bus;   // "0000:19:00.0"
};

/// error::invalid_argument when there is no such device, error::device_failed when it does not answer.
result<identity> identify(const driver_table& driver, int ordinal);

}  // namespace tutti::gpu
