// The CUDA driver and NCCL as tables of functions. So one program runs with them and without them, and tests can fill the tables themselves.
#pragma once

#include "gpu/symbols.hpp"

#include <cuda.h>
#include <nccl.h>

namespace tutti::gpu {

#define TUTTI_MEMBER(symbol) decltype(&::symbol) symbol = nullptr;

/// libcuda.so.1. Members have the names they have in cuda.h; those of TUTTI_OPTIONAL_DRIVER_SYMBOLS may be null.
struct driver_table {
    TUTTI_DRIVER_SYMBOLS(TUTTI_MEMBER)
    TUTTI_OPTIONAL_DRIVER_SYMBOLS(TUTTI_MEMBER)
};

/// libnccl.so.2. Members have the names they have in nccl.h; those of TUTTI_OPTIONAL_NCCL_SYMBOLS may be null.
struct nccl_table {
    TUTTI_NCCL_SYMBOLS(TUTTI_MEMBER)
    TUTTI_OPTIONAL_NCCL_SYMBOLS(TUTTI_MEMBER)
};

#undef TUTTI_MEMBER

}  // namespace tutti::gpu
