// What this program finds of CUDA and NCCL on this host, in values and in words.
#pragma once

#include <tutti/detail/compiler.hpp>

#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] tutti {
namespace gpu {

struct library_report {
    bool usable = false;
    std::string path, version;
    std::string origin;                // how it was found
    std::vector<std::string> missing;  // what it could offer and does not
    std::string reason;                // why it is not usable
};

struct device_report {
    int ordinal = 0;
    std::string name, uuid, bus;
};

struct availability_report {
    bool built = false;  // with device memory; otherwise nothing was looked for
    library_report driver, nccl;
    std::vector<device_report> devices;
};

/// Looks, and loads what it finds, at the first call; a program that never asks loads nothing. TUTTI_CUDA_LIBRARY and TUTTI_NCCL_LIBRARY
/// name other files than libcuda.so.1 and libnccl.so.2, by absolute paths.
TUTTI_API availability_report availability();

/// Some lines for people.
TUTTI_API std::string to_string(const availability_report& what);

}  // namespace gpu
}  // namespace tutti
