#include <tutti/types.hpp>

#include <bit>

namespace tutti {

// Adding the rounding bias lets the carry run into the exponent, so 1.9998 becomes 2 and the largest values become infinity.
bfloat16::bfloat16(float value) noexcept {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u)
        bits = static_cast<std::uint16_t>((word >> 16) | 0x0040u);  // NaN stays NaN, made quiet
    else
        bits = static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}
bfloat16::operator float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

float16::float16(float value) noexcept {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const auto sign = (word >> 16) & 0x8000u;
    const auto magnitude = word & 0x7fffffffu;
    std::uint32_t half;
    if (magnitude > 0x7f800000u) {
        half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);  // NaN: payload kept, made quiet
    } else if (magnitude >= 0x477ff000u) {
        half = 0x7c00u;  // rounds beyond 65504
    } else if (magnitude >= 0x38800000u) {
        half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    } else {
        // Subnormal: adding 0.5 puts the unit of 2^-24 at the last place of the sum, and the addition itself rounds to nearest even.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        half = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
    }
    bits = static_cast<std::uint16_t>(sign | half);
}

float16::operator float() const noexcept {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | (0x38000000u << 1) | (magnitude << 13));  // infinity, NaN
    if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    const float value = static_cast<float>(magnitude) * 0x1p-24f;  // exact
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

}  // namespace tutti
