// Arithmetic on whole vectors of one element type. Compiled once per instruction set: the guard is flipped by Highway, not closed.
#if defined(TUTTI_REDUCE_VECTOR_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_REDUCE_VECTOR_INL_HPP
#undef TUTTI_REDUCE_VECTOR_INL_HPP
#else
#define TUTTI_REDUCE_VECTOR_INL_HPP
#endif

#include <tutti/types.hpp>

#include <hwy/highway.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tutti::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
HWY_INLINE V quiet_nan(V) {
    const hn::DFromV<V> d;
    return hn::Set(d, std::numeric_limits<hn::TFromD<decltype(d)>>::quiet_NaN());
}

template <class V>
HWY_INLINE V canonical_lanes(V value) {
    return hn::IfThenElse(hn::IsNaN(value), quiet_nan(value), value);
}

// The hardware's own minimum differs from one instruction set to the next in what it does with NaN and with zeros of two signs.
template <reduce_op Op, class V>
HWY_INLINE V float_extreme(V first, V second) {
    const auto ordinary = hn::IfThenElse(Op == min ? hn::Lt(first, second) : hn::Lt(second, first), first, second);
    // Equal values have equal bits, except that one zero may be negative: then `or` keeps the sign and `and` drops it.
    const auto of_equals = Op == min ? hn::Or(first, second) : hn::And(first, second);
    const auto ordered = hn::IfThenElse(hn::Eq(first, second), of_equals, ordinary);
    return hn::IfThenElse(hn::Or(hn::IsNaN(first), hn::IsNaN(second)), quiet_nan(first), ordered);
}

// No instruction multiplies bytes. The low byte of a 16-bit product depends on the low bytes only; high bytes get a product of their own.
template <class V>
HWY_INLINE V multiply_bytes(V first, V second) {
    const hn::DFromV<V> d;
    const hn::Repartition<std::uint16_t, decltype(d)> d16;
    const auto a = hn::BitCast(d16, first);
    const auto b = hn::BitCast(d16, second);
    const auto even = hn::And(hn::Mul(a, b), hn::Set(d16, std::uint16_t{0x00ff}));
    const auto odd = hn::Mul(hn::ShiftRight<8>(a), hn::And(b, hn::Set(d16, std::uint16_t{0xff00})));
    return hn::BitCast(d, hn::Or(even, odd));
}

// Signed and unsigned products agree in their low half.
template <class V>
HWY_INLINE V multiply_words(V first, V second) {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    return hn::BitCast(d, hn::Mul(hn::BitCast(du, first), hn::BitCast(du, second)));
}

template <reduce_op Op, class V>
HWY_INLINE V combine_lanes(V first, V second) {
    using T = hn::TFromD<hn::DFromV<V>>;
    if constexpr (std::floating_point<T>) {
        if constexpr (Op == sum) return canonical_lanes(hn::Add(first, second));
        else if constexpr (Op == prod) return canonical_lanes(hn::Mul(first, second));
        else return float_extreme<Op>(first, second);
    } else {
        if constexpr (Op == sum) return hn::Add(first, second);
        else if constexpr (Op == min) return hn::Min(first, second);
        else if constexpr (Op == max) return hn::Max(first, second);
        else if constexpr (Op == band) return hn::And(first, second);
        else if constexpr (Op == bor) return hn::Or(first, second);
        else if constexpr (Op == bxor) return hn::Xor(first, second);
        else if constexpr (sizeof(T) == 1) return multiply_bytes(first, second);
        else return multiply_words(first, second);
    }
}

// Bytes of which 0 is false and everything else true; results are 0 or 1.
template <reduce_op Op, class V>
HWY_INLINE V truth_lanes(V first, V second) {
    const auto one = hn::Set(hn::DFromV<V>(), std::uint8_t{1});
    const auto a = hn::Min(first, one), b = hn::Min(second, one);
    if constexpr (Op == bxor) return hn::Xor(a, b);
    else if constexpr (Op == prod || Op == min || Op == band) return hn::And(a, b);
    else return hn::Or(a, b);
}

/// One vector of floats, divided or multiplied.
struct divided {
    int by;

    template <class V>
    HWY_INLINE V operator()(V value) const {
        const hn::DFromV<V> d;
        return canonical_lanes(hn::Div(value, hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(by))));
    }
};
/// Integers of up to 32 bits, divided and truncated towards zero. Exact: half of one away from zero, (x + 1/2) / d is at least 1/2d from every
/// whole number, and what the type F rounds off is less than a twentieth of that.
struct divided_whole {
    int by;

    template <class T>
    using fraction = std::conditional_t<sizeof(T) == 4, double, float>;

    template <class V>
    HWY_INLINE V operator()(V value) const {
        const hn::DFromV<V> d;
        using T = hn::TFromD<decltype(d)>;
        using F = fraction<T>;
        const hn::Rebind<F, decltype(d)> fractions;
        const hn::Rebind<std::int32_t, decltype(d)> whole;
        const auto scale = hn::Set(fractions, F{1} / static_cast<F>(by)), half = hn::Set(fractions, F{0.5});
        if constexpr (sizeof(T) < 4) {
            const auto x = hn::ConvertTo(fractions, hn::PromoteTo(whole, value));
            return hn::DemoteTo(d, hn::ConvertTo(whole, hn::Mul(hn::Add(x, hn::CopySign(half, x)), scale)));
        } else if constexpr (std::is_signed_v<T>) {
            const auto x = hn::PromoteTo(fractions, value);
            return hn::DemoteTo(d, hn::Mul(hn::Add(x, hn::CopySign(half, x)), scale));
        } else {  // by is 2 at least, so quotients are int32; numbers become so by 2^31 less
            const auto less = hn::BitCast(whole, hn::Xor(value, hn::Set(d, T{1} << 31)));
            const auto x = hn::Add(hn::PromoteTo(fractions, less), hn::Set(fractions, F{0x80000000} + F{0.5}));
            return hn::BitCast(d, hn::DemoteTo(whole, hn::Mul(x, scale)));
        }
    }
};
struct scaled {
    double by;

    template <class V>
    HWY_INLINE V operator()(V value) const {
        const hn::DFromV<V> d;
        return canonical_lanes(hn::Mul(value, hn::Set(d, static_cast<hn::TFromD<decltype(d)>>(by))));
    }
};

}  // namespace tutti::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
