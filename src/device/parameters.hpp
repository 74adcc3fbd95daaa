// What a reducer on devices is given: as the host names it, and whether it can be averaged where it is.
#pragma once

#include "device/group.hpp"

#include <tutti/gpu/reducer.hpp>
#include <tutti/reducer.hpp>

#include <span>
#include <vector>

namespace tutti::gpu {

/// Throws for types that only devices have.
std::vector<tutti::parameter> on_the_host(std::span<const parameter> parameters);
/// Throws for what cannot be done here.
void check_parameters(device_group& of, std::span<const tutti::parameter> parameters, reduce_op op);

}  // namespace tutti::gpu
