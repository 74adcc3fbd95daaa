// Vectors of f16 and bf16: widened to two vectors of float, and rounded back to nearest even. Highway's own conversions are used only
// where they are instructions; elsewhere they truncate, and lose infinity and NaN. NaN comes back canonical only if it went in so.
#if defined(TUTTI_REDUCE_HALF_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_REDUCE_HALF_INL_HPP
#undef TUTTI_REDUCE_HALF_INL_HPP
#else
#define TUTTI_REDUCE_HALF_INL_HPP
#endif

#include <tutti/types.hpp>

#include <hwy/highway.h>

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128  // those run plain loops
HWY_BEFORE_NAMESPACE();
namespace tutti::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// F16C rounds as its operand says (here to nearest even), whatever the thread's rounding mode is.
inline constexpr bool f16_instructions = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL;

// Elements at even and odd places of a vector of 16-bit words, seen as 32-bit words, need shifts only and no shuffle.
using words = hn::ScalableTag<std::uint32_t>;
using floats = hn::ScalableTag<float>;
using halves = hn::Repartition<std::uint16_t, words>;

template <class V>
HWY_INLINE auto widen_word_f16(V half) {  // the 16 bits in the lower half of each 32-bit lane, zeros above
    const words u32;
    const floats f32;
    const hn::RebindToSigned<words> i32;
    const auto magnitude = hn::And(half, hn::Set(u32, 0x7fffu));
    const auto sign = hn::ShiftLeft<16>(hn::Xor(half, magnitude));
    const auto beyond = hn::Gt(hn::BitCast(i32, magnitude), hn::Set(i32, 0x7bff));  // infinity or NaN: the largest exponent
    const auto bias = hn::IfThenElse(hn::RebindMask(u32, beyond), hn::Set(u32, 0x70000000u), hn::Set(u32, 0x38000000u));
    const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), bias);
    const auto tiny = hn::Lt(hn::BitCast(i32, magnitude), hn::Set(i32, 0x0400));
    const auto subnormal = hn::Mul(hn::ConvertTo(f32, hn::BitCast(i32, magnitude)), hn::Set(f32, 0x1p-24f));  // exact
    return hn::BitCast(f32, hn::Or(sign, hn::IfThenElse(hn::RebindMask(u32, tiny), hn::BitCast(u32, subnormal), normal)));
}

template <class V>
HWY_INLINE auto narrow_word_f16(V value) {  // the way tutti::float16 does it
    const words u32;
    const floats f32;
    const hn::RebindToSigned<words> i32;
    const auto word = hn::BitCast(u32, value);
    const auto magnitude = hn::And(word, hn::Set(u32, 0x7fffffffu));
    const auto sign = hn::ShiftRight<16>(hn::Xor(word, magnitude));
    const auto compared = hn::BitCast(i32, magnitude);

    const auto last_bit = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(u32, 1u));
    const auto rounding = hn::Add(last_bit, hn::Set(u32, 0u - 0x38000000u + 0xfffu));
    const auto normal = hn::ShiftRight<13>(hn::Add(magnitude, rounding));
    const auto shifted = hn::BitCast(u32, hn::Add(hn::BitCast(f32, magnitude), hn::Set(f32, 0.5f)));
    const auto subnormal = hn::Sub(shifted, hn::Set(u32, 0x3f000000u));

    const auto is_tiny = hn::RebindMask(u32, hn::Lt(compared, hn::Set(i32, 0x38800000)));
    const auto is_large = hn::RebindMask(u32, hn::Gt(compared, hn::Set(i32, 0x477fefff)));
    const auto is_nan = hn::RebindMask(u32, hn::Gt(compared, hn::Set(i32, 0x7f800000)));
    const auto finite = hn::IfThenElse(is_tiny, subnormal, normal);
    const auto large = hn::IfThenElse(is_nan, hn::Set(u32, 0x7e00u), hn::Set(u32, 0x7c00u));
    return hn::Or(sign, hn::IfThenElse(is_large, large, finite));
}

using half_vector = hn::Rebind<std::uint16_t, floats>;
using half_vector_f16 = hn::Rebind<hwy::float16_t, floats>;

/// One half of a vector of f16.
template <class V>
HWY_INLINE auto promote_f16(V half) {
    return hn::PromoteTo(floats(), hn::BitCast(half_vector_f16(), half));
}

template <class V>
HWY_INLINE auto demote_f16(V value) {
    return hn::BitCast(half_vector(), hn::DemoteTo(half_vector_f16(), value));
}

template <class V>
HWY_INLINE auto round_word_bf16(V value) {  // the result is the upper half of each 32-bit lane; the canonical NaN survives the addition
    const words u32;
    const auto word = hn::BitCast(u32, value);
    const auto last_bit = hn::And(hn::ShiftRight<16>(word), hn::Set(u32, 1u));
    return hn::Add(word, hn::Add(last_bit, hn::Set(u32, 0x7fffu)));
}

/// One vector of T as two vectors of float, `low` and `high`, and back: which elements are in which is the format's business.
template <class T>
struct half_lanes;

template <>
struct half_lanes<bfloat16> {
    static constexpr std::int16_t infinity = 0x7f80, quiet_nan = 0x7fc0;

    template <class V>
    static HWY_INLINE auto low(V from) {
        return hn::BitCast(floats(), hn::ShiftLeft<16>(hn::BitCast(words(), from)));
    }
    template <class V>
    static HWY_INLINE auto high(V from) {
        return hn::BitCast(floats(), hn::And(hn::BitCast(words(), from), hn::Set(words(), 0xffff0000u)));
    }
    template <class V>
    static HWY_INLINE auto narrow(V low, V high) {
        const auto upper = hn::And(round_word_bf16(high), hn::Set(words(), 0xffff0000u));
        const auto lower = hn::ShiftRight<16>(round_word_bf16(low));
        return hn::BitCast(halves(), hn::Or(lower, upper));
    }
};

template <>
struct half_lanes<float16> {
    static constexpr std::int16_t infinity = 0x7c00, quiet_nan = 0x7e00;

    template <class V>
    static HWY_INLINE auto low(V from) {
        if constexpr (f16_instructions) return promote_f16(hn::LowerHalf(half_vector(), from));
        else return widen_word_f16(hn::And(hn::BitCast(words(), from), hn::Set(words(), 0xffffu)));
    }
    template <class V>
    static HWY_INLINE auto high(V from) {
        if constexpr (f16_instructions) return promote_f16(hn::UpperHalf(half_vector(), from));
        else return widen_word_f16(hn::ShiftRight<16>(hn::BitCast(words(), from)));
    }
    template <class V>
    static HWY_INLINE auto narrow(V low, V high) {
        if constexpr (f16_instructions) return hn::Combine(halves(), demote_f16(high), demote_f16(low));
        else return hn::BitCast(halves(), hn::Or(narrow_word_f16(low), hn::ShiftLeft<16>(narrow_word_f16(high))));
    }
};

// Without any conversion: with all bits but the sign flipped in negative numbers, the bits order as signed integers do, -0 below +0.
template <reduce_op Op, class T, class V>
HWY_INLINE V half_extreme(V first, V second) {
    const halves u16;
    const hn::RebindToSigned<halves> i16;
    const auto a = hn::BitCast(i16, first);
    const auto b = hn::BitCast(i16, second);
    const auto magnitude = hn::Set(i16, std::int16_t{0x7fff});
    const auto key_a = hn::Xor(a, hn::And(hn::ShiftRight<15>(a), magnitude));
    const auto key_b = hn::Xor(b, hn::And(hn::ShiftRight<15>(b), magnitude));
    const auto ordered = hn::IfThenElse(Op == min ? hn::Lt(key_a, key_b) : hn::Lt(key_b, key_a), a, b);
    const auto largest = hn::Max(hn::And(a, magnitude), hn::And(b, magnitude));
    const auto has_nan = hn::Gt(largest, hn::Set(i16, half_lanes<T>::infinity));
    return hn::BitCast(u16, hn::IfThenElse(has_nan, hn::Set(i16, half_lanes<T>::quiet_nan), ordered));
}

}  // namespace tutti::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
