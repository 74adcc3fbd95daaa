// The CUDA driver and NCCL of this host as tables: loaded at the first use, checked once, with the reason if they cannot be used.
#pragma once

#include "gpu/library.hpp"
#include "gpu/tables.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tutti::gpu {

/// A library; filled as far as loading went.
template <class Table>
struct loaded {
    Table table;
    library from;
    std::string version;
    std::vector<std::string> missing;  // optional functions that this version lacks
    std::optional<failure> why_not;

    explicit operator bool() const noexcept { return !why_not; }
};

/// Loads and initializes TUTTI_CUDA_LIBRARY or libcuda.so.1, CUDA 12 or later. error::unsupported otherwise.
loaded<driver_table> load_driver();
/// Loads TUTTI_NCCL_LIBRARY or libnccl.so.2, NCCL 2.18 or later. It needs no driver.
loaded<nccl_table> load_nccl();

/// Returns the tables of this process, loaded at the first call and never again.
const loaded<driver_table>& driver();
const loaded<nccl_table>& nccl();

/// "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
std::string text_of(const driver_table& driver, CUresult code);

}  // namespace tutti::gpu
