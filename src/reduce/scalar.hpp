// The definition of the arithmetic, element by element. Every vector path equals it bit for bit.
#pragma once

#include <tutti/types.hpp>

#include "reduce/visit.hpp"

#include <cmath>
#include <complex>
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

/// Is true of the operators that add: `avg` divides afterwards, and `premul` multiplies before.
template <reduce_op Op>
inline constexpr bool adds = Op == sum || Op == avg || Op == reduce_op::premul;

/// first op second. Integers wrap; min and max hand NaN on and put -0 below +0. `avg` adds. An operator that is added to reduce_op needs a
/// branch here for each kind of elements that it combines, and in the vectors of vector_inl.hpp, which tests compare with this.
template <reduce_op Op, std::integral T>
constexpr T combine_one(T first, T second) noexcept {
    using wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;  // arithmetic modulo 2^n, never a signed overflow
    if constexpr (Op == min) return second < first ? second : first;
    else if constexpr (Op == max) return first < second ? second : first;
    else if constexpr (Op == prod) return static_cast<T>(static_cast<wide>(first) * static_cast<wide>(second));
    else if constexpr (Op == band) return static_cast<T>(first & second);
    else if constexpr (Op == bor) return static_cast<T>(first | second);
    else if constexpr (Op == bxor) return static_cast<T>(first ^ second);
    else {
        static_assert(adds<Op>, "this operator has no arithmetic for integers yet");
        return static_cast<T>(static_cast<wide>(first) + static_cast<wide>(second));
    }
}

template <reduce_op Op, std::floating_point T>
T combine_one(T first, T second) noexcept {
    if constexpr (Op == prod) return canonical(first * second);
    else if constexpr (adds<Op>) return canonical(first + second);
    else if (first != first || second != second) return std::numeric_limits<T>::quiet_NaN();
    else if constexpr (Op == min) {
        if (first == second) return std::copysign(T(1), first) < 0 ? first : second;
        return first < second ? first : second;
    } else {
        static_assert(Op == max, "this operator has no arithmetic for floating types yet");
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

/// bool: sums, maxima and `bor` are *or*, products, minima and `band` are *and*. A byte that is not 0 is true; results are 0 or 1.
template <reduce_op Op, std::same_as<truth> T>
constexpr T combine_one(T first, T second) noexcept {
    const bool a = first.byte != 0, b = second.byte != 0;
    if constexpr (Op == bxor) return {static_cast<std::uint8_t>(a != b)};
    else if constexpr (Op == prod || Op == min || Op == band) return {static_cast<std::uint8_t>(a && b)};
    else {
        static_assert(Op == sum || Op == max || Op == bor, "this operator has no arithmetic for bool yet");
        return {static_cast<std::uint8_t>(a || b)};
    }
}

/// Complex: a product is written out, (ac - bd, ad + bc), every operation rounded; infinities are not repaired as in C's Annex G.
template <reduce_op Op, class F>
std::complex<F> combine_one(std::complex<F> first, std::complex<F> second) noexcept {
    const F a = first.real(), b = first.imag(), c = second.real(), d = second.imag();
    if constexpr (Op == prod) {
        const F ac = a * c, bd = b * d, ad = a * d, bc = b * c;
        return {canonical(ac - bd), canonical(ad + bc)};
    } else {
        static_assert(adds<Op>, "this operator has no arithmetic for complex numbers yet");
        return {combine_one<sum>(a, c), combine_one<sum>(b, d)};
    }
}

/// value / divisor for a divisor of at least 1. Integers truncate towards zero.
template <element T>
T divide_one(T value, int divisor) noexcept {
    if constexpr (is_complex(type_of<T>)) {
        return {divide_one(value.real(), divisor), divide_one(value.imag(), divisor)};
    } else if constexpr (std::floating_point<T>) {
        return canonical(value / static_cast<T>(divisor));
    } else if constexpr (!std::integral<T>) {
        return T(canonical(static_cast<float>(value) / static_cast<float>(divisor)));
    } else {
        using wide = std::conditional_t<std::is_signed_v<T>, std::common_type_t<T, int>, std::common_type_t<T, unsigned>>;
        return static_cast<T>(static_cast<wide>(value) / static_cast<wide>(divisor));
    }
}

/// value * factor, for floating and complex types. The factor is first rounded to the type in which is multiplied: float for f16 and bf16.
template <element T>
T scale_one(T value, double factor) noexcept {
    if constexpr (is_complex(type_of<T>)) return {scale_one(value.real(), factor), scale_one(value.imag(), factor)};
    else if constexpr (std::floating_point<T>) return canonical(value * static_cast<T>(factor));
    else return T(canonical(static_cast<float>(value) * static_cast<float>(factor)));
}

/// combine(), divide() and scale() of kernel.hpp as loops over the above: what the tests compare with, and what a CPU without vectors runs.
void combine_scalar(reduce_op op, data_type type, void* target, const void* first, const void* second, std::size_t count) noexcept;
void divide_scalar(data_type type, void* data, std::size_t count, int divisor) noexcept;
void scale_scalar(data_type type, void* target, const void* source, std::size_t count, double factor) noexcept;

}  // namespace tutti
