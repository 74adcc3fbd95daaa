// What NCCL calls our types and operators, and which of them it has.
#pragma once

#include "gpu/device_request.hpp"
#include "gpu/tables.hpp"

#include <optional>
#include <string>

namespace tutti::gpu {

/// What decides which reductions can be had.
struct nccl_abilities {
    int version = 0;      // 22809
    int capability = 0;   // of the device: 90
    bool premul = false;  // the library lets one make operators
};

/// What elements travel as. Those that NCCL has no type for travel as bytes, which only calls that move them allow.
struct nccl_elements {
    ncclDataType_t type = ncclUint8;
    std::size_t each = 1;  // of NCCL's to one of ours
};
nccl_elements moved_as(device_type type, std::size_t element_bytes) noexcept;

/// Nothing where the operator can be had for the type; else why not.
std::optional<std::string> cannot_reduce(device_type type, const reduction& op, const nccl_abilities& has);
/// Of an operator that can be had, other than premul. NCCL's kernel for one rank does not know the small floats: their average is their sum.
ncclRedOp_t nccl_op(reduce_op op, device_type type, int ranks) noexcept;

/// The factor of a premul as an element.
struct nccl_scalar {
    alignas(8) unsigned char bytes[8];
};
nccl_scalar scalar_of(device_type type, double factor) noexcept;

/// What a result of NCCL's means for a program.
error error_of(ncclResult_t code) noexcept;

}  // namespace tutti::gpu
