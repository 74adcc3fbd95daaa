#include "gpu/sim/small_float.hpp"

#include <cmath>
#include <limits>

namespace tutti::gpu::sim {
namespace {

constexpr std::uint8_t sign = 0x80;

struct format {
    int mantissa_bits;
    int bias;
    std::uint8_t largest;  // finite
    std::uint8_t not_number;
};
constexpr format e4m3{3, 7, 0x7e, 0x7f};
constexpr format e5m2{2, 15, 0x7b, 0x7f};  // 0x7c is infinity

const format& format_of(ncclDataType_t type) { return type == ncclFloat8e4m3 ? e4m3 : e5m2; }

/// Of bits without a sign; they grow together.
float magnitude(const format& of, std::uint8_t bits) {
    if (bits > of.largest) {
        const bool infinite = bits == of.largest + 1 && bits != of.not_number;
        return infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    }
    const int one = 1 << of.mantissa_bits, exponent = bits >> of.mantissa_bits, mantissa = bits & (one - 1);
    const int least = 1 - of.bias - of.mantissa_bits;  // the exponent of the smallest number
    if (exponent == 0) return std::ldexp(static_cast<float>(mantissa), least);
    return std::ldexp(static_cast<float>(one + mantissa), least + exponent - 1);
}

}  // namespace

float small_float_value(ncclDataType_t type, std::uint8_t bits) {
    const float value = magnitude(format_of(type), static_cast<std::uint8_t>(bits & ~sign));
    return (bits & sign) != 0 ? -value : value;
}

std::uint8_t small_float_bits(ncclDataType_t type, float value) {
    const format& to = format_of(type);
    if (std::isnan(value)) return to.not_number;
    const float size = std::abs(value);
    std::uint8_t below = 0;
    while (below < to.largest && magnitude(to, static_cast<std::uint8_t>(below + 1)) <= size) ++below;
    if (below < to.largest) {
        const float down = size - magnitude(to, below), up = magnitude(to, static_cast<std::uint8_t>(below + 1)) - size;
        if (up < down || (up == down && below % 2 == 1)) ++below;
    }
    return std::signbit(value) ? static_cast<std::uint8_t>(below | sign) : below;
}

}  // namespace tutti::gpu::sim
