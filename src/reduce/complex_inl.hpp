// Products of complex numbers, which lie in memory as pairs: taken apart into a vector of real and one of imaginary parts.
#if defined(TUTTI_REDUCE_COMPLEX_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_REDUCE_COMPLEX_INL_HPP
#undef TUTTI_REDUCE_COMPLEX_INL_HPP
#else
#define TUTTI_REDUCE_COMPLEX_INL_HPP
#endif

#include "reduce/vector_inl.hpp"

#include <hwy/highway.h>

#include <cstring>

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128  // those run plain loops
HWY_BEFORE_NAMESPACE();
namespace tutti::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Two vectors' worth of products; places and counts are of pairs.
template <class F>
struct complex_product_step {
    F* target;
    const F* first;
    const F* second;

    HWY_INLINE void operator()(std::size_t at) const {
        const hn::ScalableTag<F> tag;
        hn::Vec<decltype(tag)> a, b, c, d;
        hn::LoadInterleaved2(tag, first + 2 * at, a, b);
        hn::LoadInterleaved2(tag, second + 2 * at, c, d);
        const auto real = hn::Sub(hn::Mul(a, c), hn::Mul(b, d));
        const auto imaginary = hn::Add(hn::Mul(a, d), hn::Mul(b, c));
        hn::StoreInterleaved2(canonical_lanes(real), canonical_lanes(imaginary), tag, target + 2 * at);
    }
    HWY_INLINE void partial(std::size_t at, std::size_t part) const {
        constexpr std::size_t most = 2 * HWY_MAX_BYTES / sizeof(F);
        alignas(64) F mine[most] = {}, theirs[most] = {};
        std::memcpy(mine, first + 2 * at, 2 * part * sizeof(F));
        std::memcpy(theirs, second + 2 * at, 2 * part * sizeof(F));
        complex_product_step{mine, mine, theirs}(0);
        std::memcpy(target + 2 * at, mine, 2 * part * sizeof(F));
    }
};

}  // namespace tutti::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
