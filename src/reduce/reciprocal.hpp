// Division of many integers by one divisor: a multiplication and a shift for each, which processors do many times faster.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace tutti {

/// Granlund and Montgomery 1994: with 2^(L-1) < d <= 2^L and the 65-bit m = floor(2^64 (2^L - d) / d) + 1 + 2^64, n / d is m n / 2^(64+L)
/// for every 64-bit n. Exact.
class reciprocal {
public:
    explicit constexpr reciprocal(std::uint64_t divisor) noexcept {
        const int bits = static_cast<int>(std::bit_width(divisor - 1));  // L
        const wide over = (wide{1} << bits) - divisor;
        multiplier_ = static_cast<std::uint64_t>((over << 64) / divisor + 1);
        halving_ = bits > 0 ? 1 : 0;
        shift_ = bits > 0 ? bits - 1 : 0;
    }

    /// value / divisor, truncated towards zero.
    template <std::integral T>
    constexpr T divide(T value) const noexcept {
        if constexpr (std::is_unsigned_v<T>) {
            return static_cast<T>(divide_word(value));
        } else {
            const auto wide_value = static_cast<std::int64_t>(value);
            const auto sign = static_cast<std::uint64_t>(wide_value >> 63);  // all ones if negative
            const std::uint64_t magnitude = (static_cast<std::uint64_t>(wide_value) ^ sign) - sign;
            return static_cast<T>((divide_word(magnitude) ^ sign) - sign);
        }
    }

private:
    __extension__ using wide = unsigned __int128;

    constexpr std::uint64_t divide_word(std::uint64_t value) const noexcept {
        const auto high = static_cast<std::uint64_t>((wide{multiplier_} * value) >> 64);
        return (high + ((value - high) >> halving_)) >> shift_;
    }

    std::uint64_t multiplier_;
    int halving_;
    int shift_;
};

}  // namespace tutti
