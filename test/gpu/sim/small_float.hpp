// Floating numbers of 8 bits, as NCCL computes with them: read as float, and rounded to the nearest one, ties to even, never to infinity.
#pragma once

#include <nccl.h>

#include <cstdint>

namespace tutti::gpu::sim {

constexpr bool is_small_float(ncclDataType_t type) noexcept { return type == ncclFloat8e4m3 || type == ncclFloat8e5m2; }

float small_float_value(ncclDataType_t type, std::uint8_t bits);
std::uint8_t small_float_bits(ncclDataType_t type, float value);

}  // namespace tutti::gpu::sim
