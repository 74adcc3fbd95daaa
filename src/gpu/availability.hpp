// The report on libraries that are given, for tests; the public one is on those of this process.
#pragma once

#include "gpu/libraries.hpp"

#include <tutti/gpu/availability.hpp>

namespace tutti::gpu {

availability_report availability_of(const loaded<driver_table>& driver, const loaded<nccl_table>& nccl);

}  // namespace tutti::gpu
