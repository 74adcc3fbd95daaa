// f16 and bf16 exhaustively: all 65,536 values, beside partners chosen to make ties, near ties, carries and overflow.
#include "reduce/kernel.hpp"
#include "reduce/scalar.hpp"
#include "reduce/visit.hpp"
#include "targets.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t all_values = 65536;
constexpr std::uint64_t seed = 754;

template <class T>
struct half_format;
template <>
struct half_format<float16> {
    static constexpr data_type type = data_type::f16;
    static constexpr int digits = 11, lowest_exponent = -14;
    static constexpr double beyond = 65520;  // from here on infinity is nearest
    static constexpr std::uint16_t quiet_nan = 0x7e00;
};
template <>
struct half_format<bfloat16> {
    static constexpr data_type type = data_type::bf16;
    static constexpr int digits = 8, lowest_exponent = -126;
    static constexpr double beyond = 0x1.ffp127;
    static constexpr std::uint16_t quiet_nan = 0x7fc0;
};

template <class T>
T from_bits(std::size_t bits) {
    return std::bit_cast<T>(static_cast<std::uint16_t>(bits));
}

template <class T>
bool is_nan(T value) {
    return std::isnan(static_cast<float>(value));
}

/// The nearest value of T, ties to even, found by scaling in double: shares no code and no idea with the library.
template <class T>
double nearest(double exact) {
    using format = half_format<T>;
    if (exact == 0 || !std::isfinite(exact)) return exact;
    if (std::abs(exact) >= format::beyond) return std::copysign(INFINITY, exact);
    const double unit = std::ldexp(1, std::max(std::ilogb(exact), format::lowest_exponent) - (format::digits - 1));
    return std::nearbyint(exact / unit) * unit;
}

/// Half of the last place of `value`, so that value + partner lies between two neighbours of T.
template <class T>
T half_place(T value) {
    const float magnitude = std::abs(static_cast<float>(value));
    if (!std::isfinite(magnitude) || magnitude == 0) return value;
    return T(static_cast<float>(std::ldexp(1, std::ilogb(magnitude) - half_format<T>::digits)));
}

template <class T>
struct partner {
    const char* name;
    T (*of)(T, std::mt19937_64&);
};

template <class T>
constexpr partner<T> partners[] = {
    {"zero", [](T, std::mt19937_64&) { return T(0.0f); }},
    {"minus zero", [](T, std::mt19937_64&) { return T(-0.0f); }},
    {"one", [](T, std::mt19937_64&) { return T(1.0f); }},
    {"a third", [](T, std::mt19937_64&) { return T(1.0f / 3); }},
    {"infinity", [](T, std::mt19937_64&) { return T(INFINITY); }},
    {"the smallest", [](T, std::mt19937_64&) { return from_bits<T>(0x0001); }},
    {"the largest", [](T, std::mt19937_64&) { return from_bits<T>(half_format<T>::type == data_type::f16 ? 0x7bff : 0x7f7f); }},
    {"itself", [](T value, std::mt19937_64&) { return value; }},
    {"its negative", [](T value, std::mt19937_64&) { return from_bits<T>(value.bits ^ 0x8000u); }},
    {"half a place", [](T value, std::mt19937_64&) { return half_place(value); }},
    {"just over half a place", [](T value, std::mt19937_64&) { return from_bits<T>(half_place(value).bits + 1u); }},
    {"just under half a place", [](T value, std::mt19937_64&) { return from_bits<T>(half_place(value).bits - 1u); }},
    {"minus half a place", [](T value, std::mt19937_64&) { return from_bits<T>(half_place(value).bits ^ 0x8000u); }},
    {"any", [](T, std::mt19937_64& random) { return from_bits<T>(random()); }},
    {"any other", [](T, std::mt19937_64& random) { return from_bits<T>(random()); }},
};

/// Every value of T, and a partner for each.
template <class T>
struct pairs {
    std::vector<T> first{all_values}, second{all_values};

    explicit pairs(const partner<T>& by) {
        std::mt19937_64 random(seed);
        for (std::size_t bits = 0; bits < all_values; ++bits) {
            first[bits] = from_bits<T>(bits);
            second[bits] = by.of(first[bits], random);
        }
    }
};

template <class T>
std::vector<T> combined(reduce_op op, const pairs<T>& in) {
    std::vector<T> out(all_values);
    combine(op, half_format<T>::type, out.data(), in.first.data(), in.second.data(), all_values);
    return out;
}

/// How many results of `op` are not the nearest value of T to the exact result, which a double holds.
template <class T>
int wrong_roundings(reduce_op op, const pairs<T>& in) {
    const auto out = combined(op, in);
    int wrong = 0;
    for (std::size_t i = 0; i < all_values; ++i) {
        const double a = static_cast<float>(in.first[i]), b = static_cast<float>(in.second[i]);
        const double exact = op == prod ? a * b : a + b;
        if (std::isnan(exact)) wrong += out[i].bits != half_format<T>::quiet_nan;
        else if (std::abs(exact) < 0x1p-126 && op == prod) continue;  // float itself is subnormal here: two roundings
        else wrong += static_cast<double>(static_cast<float>(out[i])) != nearest<T>(exact);
    }
    return wrong;
}

}  // namespace

TEST_CASE_TEMPLATE("adding minus zero gives every value back, and every NaN as the canonical one", T, float16, bfloat16) {
    for (const auto target : all_targets()) {
        const only_target here(target);
        INFO(kernel_target());
        const pairs<T> in(partners<T>[1]);
        const auto out = combined(sum, in);
        for (std::size_t bits = 0; bits < all_values; ++bits)
            REQUIRE(out[bits].bits == (is_nan(in.first[bits]) ? half_format<T>::quiet_nan : bits));
    }
}

TEST_CASE_TEMPLATE("all 65,536 values combine with every partner to the bits of the scalar definition", T, float16, bfloat16) {
    for (const auto& by : partners<T>)
        for (const reduce_op op : {reduce_op::sum, reduce_op::prod, reduce_op::min, reduce_op::max}) {
            const pairs<T> in(by);
            std::vector<T> expected(all_values);
            combine_scalar(op, half_format<T>::type, expected.data(), in.first.data(), in.second.data(), all_values);
            for (const auto target : all_targets()) {
                const only_target here(target);
                INFO(kernel_target(), " ", std::string(name(op)), " with ", by.name, " seed ", seed);
                CHECK(combined(op, in) == expected);
            }
        }
}

TEST_CASE_TEMPLATE("sums and products are the nearest values to the exact ones, ties to even", T, float16, bfloat16) {
    for (const auto& by : partners<T>)
        for (const reduce_op op : {reduce_op::sum, reduce_op::prod})
            for (const auto target : all_targets()) {
                const only_target here(target);
                INFO(kernel_target(), " ", std::string(name(op)), " with ", by.name, " seed ", seed);
                CHECK(wrong_roundings(op, pairs<T>(by)) == 0);
            }
}

TEST_CASE_TEMPLATE("all 65,536 values divide to the bits of the scalar definition", T, float16, bfloat16) {
    for (const int divisor : {1, 2, 3, 5, 7, 16, 33, 1000}) {
        std::vector<T> expected = pairs<T>(partners<T>[0]).first;
        divide_scalar(half_format<T>::type, expected.data(), all_values, divisor);
        for (const auto target : all_targets()) {
            const only_target here(target);
            std::vector<T> values = pairs<T>(partners<T>[0]).first;
            divide(half_format<T>::type, values.data(), all_values, divisor);
            INFO(kernel_target(), " / ", divisor);
            CHECK(values == expected);
        }
    }
}
