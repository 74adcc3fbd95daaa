// The CUDA driver and NCCL of this host, as tables: loaded when somebody asks, checked once, and if they are of no use, why.
#pragma once

#include "gpu/library.hpp"
#include "gpu/tables.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tutti::gpu {

/// Filled as far as it came.
template <class Table>
struct loaded {
    Table table;
    library from;
    std::string version;
    std::vector<std::string> missing;  // of what is optional
    std::optional<failure> why_not;

    explicit operator bool() const noexcept { return !why_not; }
};

/// TUTTI_CUDA_LIBRARY or libcuda.so.1, CUDA 12 or later, initialized. error::unsupported otherwise.
loaded<driver_table> load_driver();
/// TUTTI_NCCL_LIBRARY or libnccl.so.2, NCCL 2.18 or later. It needs no driver.
loaded<nccl_table> load_nccl();

/// Those of this process: loaded at the first call, the same ever after.
const loaded<driver_table>& driver();
const loaded<nccl_table>& nccl();

/// "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
std::string text_of(const driver_table& driver, CUresult code);

}  // namespace tutti::gpu
