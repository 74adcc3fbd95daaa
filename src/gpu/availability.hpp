// The report on given libraries, for tests. The public function reports on the libraries of this process.
#pragma once

#include "gpu/libraries.hpp"

#include <tutti/gpu/availability.hpp>

namespace tutti::gpu {

availability_report availability_of(const loaded<driver_table>& driver, const loaded<nccl_table>& nccl);

}  // namespace tutti::gpu
