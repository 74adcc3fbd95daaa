// The parameters of a reducer on devices: their translation to the host's types, and their checks.
#pragma once

#include "device/group.hpp"

#include <tutti/gpu/reducer.hpp>
#include <tutti/reducer.hpp>

#include <span>
#include <vector>

namespace tutti::gpu {

/// Throws for types that only devices have.
std::vector<tutti::parameter> on_the_host(std::span<const parameter> parameters);
/// Throws for parameters that this group cannot average.
void check_parameters(device_group& of, std::span<const tutti::parameter> parameters, reduce_op op);

}  // namespace tutti::gpu
