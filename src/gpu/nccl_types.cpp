#include "gpu/nccl_types.hpp"

#include <fmt/format.h>

#include <cstring>

namespace tutti::gpu {
namespace {

/// A number NCCL knows as such.
std::optional<ncclDataType_t> number(device_type type) noexcept {
    switch (type) {
        case device_type::f32: return ncclFloat32;
        case device_type::f64: return ncclFloat64;
        case device_type::f16: return ncclFloat16;
        case device_type::bf16: return ncclBfloat16;
        case device_type::i8: return ncclInt8;
        case device_type::u8: return ncclUint8;
        case device_type::i32: return ncclInt32;
        case device_type::u32: return ncclUint32;
        case device_type::i64: return ncclInt64;
        case device_type::u64: return ncclUint64;
        case device_type::e4m3: return ncclFloat8e4m3;
        case device_type::e5m2: return ncclFloat8e5m2;
        case device_type::i16:
        case device_type::u16:
        case device_type::boolean:
        case device_type::cf32:
        case device_type::cf64:
        case device_type::opaque: break;
    }
    return {};
}

bool has_operator(reduce_op op) noexcept {
    switch (op) {
        case reduce_op::sum:
        case reduce_op::prod:
        case reduce_op::min:
        case reduce_op::max:
        case reduce_op::avg:
        case reduce_op::premul: return true;
        case reduce_op::band:
        case reduce_op::bor:
        case reduce_op::bxor:
        case reduce_op::custom: break;
    }
    return false;
}

bool is_small_float(device_type type) noexcept { return type == device_type::e4m3 || type == device_type::e5m2; }

constexpr int first_with_small_floats = 22403;
constexpr int capability_for_small_floats = 90;

}  // namespace

/// An older library does not know the small floats, so they always travel as bytes.
nccl_elements moved_as(device_type type, std::size_t element_bytes) noexcept {
    if (const auto known = number(type); known && !is_small_float(type)) return {*known, 1};
    return {ncclUint8, element_bytes};
}

std::optional<std::string> cannot_reduce(device_type type, const reduction& op, const nccl_abilities& has) {
    const std::string pair = fmt::format("{} of {}", name(op.kind()), name(type));
    if (!has_operator(op.kind())) return pair + ": NCCL has no such operator";
    if (op.kind() == reduce_op::premul) {
        if (!has.premul) return pair + ": this version of NCCL makes no operators";
        if (!is_floating(of_host(type)) || is_small_float(type)) return pair + ": it scales f16, bf16, f32 and f64 only";
    }
    if (!number(type)) return pair + ": NCCL does not compute with this type";
    if (!is_small_float(type)) return {};
    if (has.version < first_with_small_floats) return pair + ": NCCL computes with this type from 2.24.3 on";
    if (has.capability < capability_for_small_floats)
        return fmt::format("{}: the device's compute capability is {}.{}, and 9.0 is needed", pair, has.capability / 10,
                           has.capability % 10);
    return {};
}

ncclRedOp_t nccl_op(reduce_op op, device_type type, int ranks) noexcept {
    switch (op) {
        case reduce_op::prod: return ncclProd;
        case reduce_op::min: return ncclMin;
        case reduce_op::max: return ncclMax;
        case reduce_op::avg: return ranks == 1 && is_small_float(type) ? ncclSum : ncclAvg;
        default: return ncclSum;
    }
}

nccl_scalar scalar_of(device_type type, double factor) noexcept {
    nccl_scalar made{};
    const auto put = [&made](const auto& value) { std::memcpy(made.bytes, &value, sizeof value); };
    switch (type) {
        case device_type::f64: put(factor); break;
        case device_type::f16: put(float16(static_cast<float>(factor))); break;
        case device_type::bf16: put(bfloat16(static_cast<float>(factor))); break;
        default: put(static_cast<float>(factor)); break;
    }
    return made;
}

error error_of(ncclResult_t code) noexcept {
    switch (code) {
        case ncclUnhandledCudaError: return error::device_failed;
        case ncclRemoteError: return error::peer_died;
        case ncclInvalidArgument:
        case ncclInvalidUsage: return error::invalid_argument;
        default: return error::system;
    }
}

}  // namespace tutti::gpu
