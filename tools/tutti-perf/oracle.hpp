// The expected results of operations, computed without the library from small whole numbers as elements of any type.
#pragma once

#include "reduce/visit.hpp"

#include <tutti/types.hpp>

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace perf {

/// By which a rank's contribution to a premul_sum is multiplied; exact in every type.
constexpr double factor_of(tutti::rank from) noexcept { return from % 2 == 1 ? 0.5 : 2; }

template <class T>
inline constexpr bool complex_numbers = tutti::is_complex(tutti::data_type_of<T>);
template <class T>
inline constexpr bool truths = std::same_as<T, tutti::truth>;

/// A bool says whether the number is odd. A complex number is real when it is odd and imaginary otherwise, so products of 1 and 2i are exact.
template <class T>
T element_of(double value) noexcept {
    if constexpr (std::integral<T>) return static_cast<T>(static_cast<std::int64_t>(value));
    else if constexpr (truths<T>) return {static_cast<std::uint8_t>(static_cast<std::int64_t>(value) % 2)};
    else if constexpr (complex_numbers<T>)
        return static_cast<std::int64_t>(value) % 2 == 0 ? T{0, static_cast<typename T::value_type>(value)}
                                                         : T{static_cast<typename T::value_type>(value), 0};
    else return static_cast<T>(static_cast<float>(value));
}

template <class T>
bool same(const T& one, const T& other) noexcept {
    if constexpr (truths<T>) return one.byte == other.byte;
    else return one == other;
}

/// Returns the element that changes nothing, for a rank that has no other rank's element to combine.
template <class T>
T neutral(tutti::reduce_op op) noexcept {
    using enum tutti::reduce_op;
    if constexpr (truths<T>) return {static_cast<std::uint8_t>(op == prod || op == min || op == band)};
    else if constexpr (complex_numbers<T>) return op == prod ? T{1, 0} : T{0, 0};
    else if constexpr (std::integral<T>) {
        if (op == min) return std::numeric_limits<T>::max();
        if (op == max) return std::numeric_limits<T>::min();
        return op == prod ? T{1} : op == band ? static_cast<T>(~T{0}) : T{0};
    } else {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        return static_cast<T>(op == min ? infinity : op == max ? -infinity : op == prod ? 1.0F : 0.0F);
    }
}

/// In which numbers are combined: integers modulo 2^64, which wraps like the type; floating types in double, which is exact here.
template <class T>
using wide = std::conditional_t<std::integral<T>, std::uint64_t, std::conditional_t<complex_numbers<T>, std::complex<double>, double>>;

template <class Wide>
Wide combine(tutti::reduce_op op, Wide first, Wide second) noexcept {
    using enum tutti::reduce_op;
    if (op == prod) return first * second;
    if constexpr (!std::same_as<Wide, std::complex<double>>) {
        if (op == min) return std::min(first, second);
        if (op == max) return std::max(first, second);
    }
    if constexpr (std::integral<Wide>) {
        if (op == band) return first & second;
        if (op == bor) return first | second;
        if (op == bxor) return first ^ second;
    }
    return first + second;
}

/// From numbers to the type, divided by the number of ranks for an average.
template <class T>
T narrowed(tutti::reduce_op op, wide<T> value, std::size_t ranks) noexcept {
    const bool mean = op == tutti::reduce_op::avg;
    if constexpr (std::integral<T>) {
        return mean ? static_cast<T>(static_cast<T>(value) / static_cast<T>(ranks)) : static_cast<T>(value);
    } else if constexpr (complex_numbers<T>) {
        return static_cast<T>(mean ? value / static_cast<double>(ranks) : value);
    } else if constexpr (std::floating_point<T>) {
        return static_cast<T>(mean ? value / static_cast<double>(ranks) : value);
    } else {
        return static_cast<T>(mean ? static_cast<float>(value) / static_cast<float>(ranks) : static_cast<float>(value));
    }
}

/// The contributions of ranks `first`, first + 1 and so on.
template <class T>
T combined(tutti::reduce_op op, tutti::rank first, std::span<const int> values) {
    if (values.empty()) return neutral<T>(op);
    if constexpr (truths<T>) {
        // A sum of bools is an or, and a product an and.
        using enum tutti::reduce_op;
        const auto odd = static_cast<std::size_t>(std::ranges::count_if(values, [](int value) { return value % 2 == 1; }));
        const bool both = op == prod || op == min || op == band;
        return {static_cast<std::uint8_t>(op == bxor ? odd % 2 == 1 : both ? odd == values.size() : odd > 0)};
    } else {
        const auto of = [&](std::size_t index) {
            const bool scaled = op == tutti::reduce_op::premul;
            if constexpr (std::integral<T>) return static_cast<std::uint64_t>(values[index]);
            else return element_of<wide<T>>(values[index]) * (scaled ? factor_of(first + static_cast<tutti::rank>(index)) : 1.0);
        };
        wide<T> whole = of(0);
        for (std::size_t index = 1; index < values.size(); ++index) whole = combine(op, whole, static_cast<wide<T>>(of(index)));
        return narrowed<T>(op, whole, values.size());
    }
}

}  // namespace perf
