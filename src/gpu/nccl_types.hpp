// NCCL's numbers for our types and operators, and which of them it supports.
#pragma once

#include "gpu/device_request.hpp"
#include "gpu/tables.hpp"

#include <optional>
#include <string>

namespace tutti::gpu {

/// The properties on which the supported reductions depend.
struct nccl_abilities {
    int version = 0;      // 22809
    int capability = 0;   // of the device: 90
    bool premul = false;  // the library lets one make operators
};

/// The type as which elements travel. Elements without a type of NCCL's travel as bytes, in calls that only move them.
struct nccl_elements {
    ncclDataType_t type = ncclUint8;
    std::size_t each = 1;  // of NCCL's to one of ours
};
nccl_elements moved_as(device_type type, std::size_t element_bytes) noexcept;

/// Returns nothing if NCCL supports the operator for the type, else the reason.
std::optional<std::string> cannot_reduce(device_type type, const reduction& op, const nccl_abilities& has);
/// Returns the number of a supported operator other than premul. One rank's average of small floats is a sum, since NCCL has no kernel for it.
ncclRedOp_t nccl_op(reduce_op op, device_type type, int ranks) noexcept;

/// The factor of a premul, as an element of the type.
struct nccl_scalar {
    alignas(8) unsigned char bytes[8];
};
nccl_scalar scalar_of(device_type type, double factor) noexcept;

/// Returns the error code for a result of NCCL's.
error error_of(ncclResult_t code) noexcept;

}  // namespace tutti::gpu
