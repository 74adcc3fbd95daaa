// Reports the CUDA and NCCL that this program finds on this host, in values and in words.
#pragma once

#include <tutti/detail/compiler.hpp>

#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

/// A library that was searched for.
struct library_report {
    bool usable = false;
    std::string path, version;
    std::string origin;                // how it was found
    std::vector<std::string> missing;  // features that it lacks
    std::string reason;                // why it is not usable
};

/// A device that the driver offers.
struct device_report {
    int ordinal = 0;
    std::string name, uuid, bus;
};

/// The libraries and devices that this process can use.
struct availability_report {
    bool built = false;  // with device memory; otherwise nothing was searched
    library_report driver, nccl;
    std::vector<device_report> devices;
};

/// Finds and loads the libraries at the first call; a program that never calls it loads nothing. TUTTI_CUDA_LIBRARY and TUTTI_NCCL_LIBRARY
/// name replacements of libcuda.so.1 and libnccl.so.2, by absolute paths.
TUTTI_API availability_report availability();

/// Formats the report for people, in some lines.
TUTTI_API std::string to_string(const availability_report& what);

}  // namespace gpu
}  // namespace tutti
