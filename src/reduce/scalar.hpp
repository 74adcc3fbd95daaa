// What the arithmetic means, element by element: the readable definition. Every vector path equals it bit for bit.
#pragma once

#include <tutti/types.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace tutti {

/// A NaN result loses sign and payload: which operand's NaN the hardware hands on depends on the order of the operands.
template <std::floating_point T>
constexpr T canonical(T value) noexcept {
    return value != value ? std::numeric_limits<T>::quiet_NaN() : value;
}

/// first op second. Integers wrap; min and max hand NaN on and put -0 below +0. `avg` adds.
template <reduce_op Op, std::integral T>
constexpr T combine_one(T first, T second) noexcept {
    using wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;  // arithmetic modulo 2^n, never a signed overflow
    if constexpr (Op == min) return second < first ? second : first;
    else if constexpr (Op == max) return first < second ? second : first;
    else if constexpr (Op == prod) return static_cast<T>(static_cast<wide>(first) * static_cast<wide>(second));
    else return static_cast<T>(static_cast<wide>(first) + static_cast<wide>(second));
}

template <reduce_op Op, std::floating_point T>
T combine_one(T first, T second) noexcept {
    if constexpr (Op == prod) return canonical(first * second);
    else if constexpr (Op != min && Op != max) return canonical(first + second);
    else if (first != first || second != second) return std::numeric_limits<T>::quiet_NaN();
    else if constexpr (Op == min) {
        if (first == second) return std::copysign(T(1), first) < 0 ? first : second;
        return first < second ? first : second;
    } else {
        if (first == second) return std::copysign(T(1), first) < 0 ? second : first;
        return first < second ? second : first;
    }
}

/// f16 and bf16: in float, then one rounding to nearest even.
template <reduce_op Op, class T>
    requires(std::same_as<T, float16> || std::same_as<T, bfloat16>)
T combine_one(T first, T second) noexcept {
    return T(combine_one<Op>(static_cast<float>(first), static_cast<float>(second)));
}

/// value / divisor for a divisor of at least 1. Integers truncate towards zero.
template <element T>
T divide_one(T value, int divisor) noexcept {
    if constexpr (std::floating_point<T>) {
        return canonical(value / static_cast<T>(divisor));
    } else if constexpr (!std::integral<T>) {
        return T(canonical(static_cast<float>(value) / static_cast<float>(divisor)));
    } else {
        using wide = std::conditional_t<std::is_signed_v<T>, std::common_type_t<T, int>, std::common_type_t<T, unsigned>>;
        return static_cast<T>(static_cast<wide>(value) / static_cast<wide>(divisor));
    }
}

/// combine() and divide() of kernel.hpp as loops over the above: what the tests compare with, and what a CPU without vectors runs.
void combine_scalar(reduce_op op, data_type type, void* target, const void* first, const void* second, std::size_t count) noexcept;
void divide_scalar(data_type type, void* data, std::size_t count, int divisor) noexcept;

}  // namespace tutti
