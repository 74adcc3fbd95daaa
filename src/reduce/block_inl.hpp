// combine(), merge(), divide() and scale() for one instruction set. kernel.cpp compiles this file once for each set, and chooses one at run time.
// visit.hpp leads from operator and type to a template; a block is walked in vectors, with partial vectors at both ends.
#if defined(TUTTI_REDUCE_BLOCK_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_REDUCE_BLOCK_INL_HPP
#undef TUTTI_REDUCE_BLOCK_INL_HPP
#else
#define TUTTI_REDUCE_BLOCK_INL_HPP
#endif

#include "reduce/complex_inl.hpp"
#include "reduce/half_inl.hpp"
#include "reduce/merging.hpp"
#include "reduce/reciprocal.hpp"
#include "reduce/scalar.hpp"
#include "reduce/vector_inl.hpp"
#include "reduce/visit.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tutti::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
// These stand in for a CPU without vectors, where plain loops serve better than Highway's emulation.
inline void combine_here(reduce_op op, data_type type, void* target, const void* first, const void* second, std::size_t count) {
    combine_scalar(op, type, target, first, second, count);
}

inline void merge_here(reduce_op op, data_type type, const merging& what, std::size_t count) {
    merge_in_pieces(what, size_of(type), 0, count, [=](void* own, const void* first, const void* other, std::size_t some) {
        combine_scalar(op, type, own, first, other, some);
    });
}

inline void divide_here(data_type type, void* data, std::size_t count, int divisor) { divide_scalar(type, data, count, divisor); }

inline void scale_here(data_type type, void* target, const void* source, std::size_t count, double factor) {
    scale_scalar(type, target, source, count, factor);
}

#else
template <class T>
inline constexpr bool is_half = std::same_as<T, float16> || std::same_as<T, bfloat16>;

template <class T>
using stored = std::conditional_t<is_half<T>, std::uint16_t, std::conditional_t<std::same_as<T, truth>, std::uint8_t, T>>;

/// Less than a vector, padded with zeros to one: the ends of a block go through the same instructions as its middle.
template <class T>
struct padded {
    alignas(64) stored<T> values[HWY_MAX_BYTES / sizeof(T)] = {};

    padded(const void* source, std::size_t count) { std::memcpy(values, source, count * sizeof(T)); }
};

/// `first op second` as T's, which lie in vectors of stored<T>.
template <reduce_op Op, class T, class V>
HWY_INLINE V combine_stored(V first, V second) {
    if constexpr (std::same_as<T, truth>) {
        return truth_lanes<Op>(first, second);
    } else if constexpr (!is_half<T>) {
        return combine_lanes<Op>(first, second);
    } else if constexpr (Op == min || Op == max) {
        return half_extreme<Op, T>(first, second);
    } else {
        using half = half_lanes<T>;
        return half::narrow(combine_lanes<Op>(half::low(first), half::low(second)), combine_lanes<Op>(half::high(first), half::high(second)));
    }
}

/// One vector's worth of `first op second`. Both are loaded before anything is stored, so `target` may be either.
template <reduce_op Op, class T>
struct combine_step {
    stored<T>* target;
    const stored<T>* first;
    const stored<T>* second;

    HWY_INLINE void operator()(std::size_t at) const {
        const hn::ScalableTag<stored<T>> d;
        hn::StoreU(combine_stored<Op, T>(hn::LoadU(d, first + at), hn::LoadU(d, second + at)), d, target + at);
    }
    HWY_INLINE void partial(std::size_t at, std::size_t part) const {
        padded<T> mine(first + at, part);
        const padded<T> theirs(second + at, part);
        combine_step{mine.values, mine.values, theirs.values}(0);
        std::memcpy(target + at, mine.values, part * sizeof(T));
    }
};

/// One vector's worth of `source`, divided or multiplied.
template <class T, class Change>
struct change_step {
    stored<T>* target;
    const stored<T>* source;
    Change change;

    HWY_INLINE void operator()(std::size_t at) const {
        const hn::ScalableTag<stored<T>> d;
        const auto value = hn::LoadU(d, source + at);
        if constexpr (is_half<T>) {
            using half = half_lanes<T>;
            hn::StoreU(half::narrow(change(half::low(value)), change(half::high(value))), d, target + at);
        } else {
            hn::StoreU(change(value), d, target + at);
        }
    }
    HWY_INLINE void partial(std::size_t at, std::size_t part) const {
        padded<T> rest(source + at, part);
        change_step{rest.values, rest.values, change}(0);
        std::memcpy(target + at, rest.values, part * sizeof(T));
    }
};

/// As many integers of `data` as there are fractions in a vector, divided.
template <class T>
struct quotient_step {
    T* data;
    divided_whole divide;

    HWY_INLINE void operator()(std::size_t at) const {
        const hn::Rebind<T, hn::ScalableTag<divided_whole::fraction<T>>> d;
        hn::StoreU(divide(hn::LoadU(d, data + at)), d, data + at);
    }
    HWY_INLINE void partial(std::size_t at, std::size_t part) const {
        padded<T> rest(data + at, part);
        quotient_step{rest.values, divide}(0);
        std::memcpy(data + at, rest.values, part * sizeof(T));
    }
};

/// Returns how many elements lie before the first vector boundary, 0 for short blocks. Stores that cross cache lines cost up to a tenth of the time.
template <class T>
HWY_INLINE std::size_t unaligned_head(const void* written, std::size_t count, std::size_t lanes) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(written) % (lanes * sizeof(T)) / sizeof(T);
    return past == 0 || count < 16 * lanes ? 0 : lanes - past;
}

HWY_INLINE bool is_aligned(const void* at, std::size_t to) { return reinterpret_cast<std::uintptr_t>(at) % to == 0; }

template <class Step>
HWY_INLINE void in_vectors(const Step& step, std::size_t head, std::size_t count, std::size_t lanes) {
    std::size_t at = head;
    if (at != 0) step.partial(0, at);
    for (; at + 2 * lanes <= count; at += 2 * lanes) {
        step(at);
        step(at + lanes);
    }
    for (; at + lanes <= count; at += lanes) step(at);
    if (at != count) step.partial(at, count - at);
}

template <class T, class Step>
HWY_INLINE void over_block(const Step& step, const void* written, std::size_t count) {
    const std::size_t lanes = hn::Lanes(hn::ScalableTag<stored<T>>());
    in_vectors(step, unaligned_head<T>(written, count, lanes), count, lanes);
}

struct combine_block {
    void* target;
    const void* first;
    const void* second;
    std::size_t count;

    template <reduce_op Op, class T>
    HWY_ATTR void operator()() const {
        if constexpr (is_complex(data_type_of<T>)) {
            using F = typename T::value_type;
            if constexpr (Op == prod)
                in_vectors(complex_product_step<F>{static_cast<F*>(target), static_cast<const F*>(first), static_cast<const F*>(second)}, 0,
                           count, hn::Lanes(hn::ScalableTag<F>()));
            else combine_block{target, first, second, 2 * count}.template operator()<Op, F>();
        } else {
            using S = stored<T>;
            const combine_step<Op, T> step{static_cast<S*>(target), static_cast<const S*>(first), static_cast<const S*>(second)};
            over_block<T>(step, target, count);
        }
    }
};

inline constexpr std::size_t cache_line = 64;

/// Returns a bit for `own` and one for each of `also`, set if it is written past the caches. Streaming stores need alignment, and must not evict a block
/// that is read as one of `others`.
template <class S>
HWY_INLINE std::uint64_t past_caches_of(const merging& what, std::size_t begin, std::size_t lanes) {
    if (!what.past_caches) return 0;
    const auto may = [&](const std::byte* block) HWY_ATTR {
        return is_aligned(block + begin * sizeof(S), std::max(lanes * sizeof(S), cache_line)) &&
               std::find(what.others.begin(), what.others.end(), block) == what.others.end();
    };
    std::uint64_t found = may(what.own), bit = 1;
    for (const std::byte* const each : what.also) {
        bit <<= 1;
        if (may(each)) found |= bit;
    }
    return found;
}

/// Merges elements from `begin` on, four vectors at a time, and returns where it stopped before `end`. A sum stays in registers from its first operand to
/// its last store.
template <reduce_op Op, class T>
HWY_INLINE std::size_t merge_vectors(const merging& what, std::size_t begin, std::size_t end) {
    using S = stored<T>;
    const hn::ScalableTag<S> d;
    const std::size_t lanes = hn::Lanes(d);
    const std::uint64_t past_caches = past_caches_of<S>(what, begin, lanes);
    std::size_t at = begin;
    for (; at + 4 * lanes <= end; at += 4 * lanes) {
        const auto* first = reinterpret_cast<const S*>(what.first) + at;
        auto v0 = hn::LoadU(d, first), v1 = hn::LoadU(d, first + lanes);
        auto v2 = hn::LoadU(d, first + 2 * lanes), v3 = hn::LoadU(d, first + 3 * lanes);
        for (const std::byte* const each : what.others) {
            const auto* other = reinterpret_cast<const S*>(each) + at;
            v0 = combine_stored<Op, T>(v0, hn::LoadU(d, other));
            v1 = combine_stored<Op, T>(v1, hn::LoadU(d, other + lanes));
            v2 = combine_stored<Op, T>(v2, hn::LoadU(d, other + 2 * lanes));
            v3 = combine_stored<Op, T>(v3, hn::LoadU(d, other + 3 * lanes));
        }
        const auto store = [&](std::byte* into, bool past) HWY_ATTR {
            auto* const target = reinterpret_cast<S*>(into) + at;
            if (past) {
                hn::Stream(v0, d, target);
                hn::Stream(v1, d, target + lanes);
                hn::Stream(v2, d, target + 2 * lanes);
                hn::Stream(v3, d, target + 3 * lanes);
            } else {
                hn::StoreU(v0, d, target);
                hn::StoreU(v1, d, target + lanes);
                hn::StoreU(v2, d, target + 2 * lanes);
                hn::StoreU(v3, d, target + 3 * lanes);
            }
        };
        store(what.own, (past_caches & 1) != 0);
        std::uint64_t which = past_caches;
        for (std::byte* const each : what.also) store(each, ((which >>= 1) & 1) != 0);
    }
    if (past_caches != 0) hwy::FlushStream();
    return at;
}

struct merge_block {
    const merging& what;
    std::size_t count;

    template <reduce_op Op, class T>
    HWY_ATTR void operator()() const {
        const auto in_pieces = [&](std::size_t begin, std::size_t end) HWY_ATTR {
            merge_in_pieces(what, sizeof(T), begin, end, [](void* own, const void* first, const void* other, std::size_t some) HWY_ATTR {
                combine_block{own, first, other, some}.template operator()<Op, T>();
            });
        };
        if constexpr (!is_complex(data_type_of<T>)) {
            const std::size_t lanes = std::max(hn::Lanes(hn::ScalableTag<stored<T>>()), cache_line / sizeof(T));
            const std::size_t head = unaligned_head<T>(what.own, count, lanes);
            in_pieces(0, head);
            in_pieces(merge_vectors<Op, T>(what, head, count), count);
        } else if constexpr (Op == prod) {
            in_pieces(0, count);
        } else {
            merge_block{what, 2 * count}.template operator()<Op, typename T::value_type>();
        }
    }
};

template <class Change>
struct change_block {
    void* target;
    const void* source;
    std::size_t count;
    Change change;

    template <class T>
    HWY_ATTR void operator()() const {
        if constexpr (is_complex(data_type_of<T>)) {
            change_block{target, source, 2 * count, change}.template operator()<typename T::value_type>();
        } else {
            const change_step<T, Change> step{static_cast<stored<T>*>(target), static_cast<const stored<T>*>(source), change};
            over_block<T>(step, target, count);
        }
    }
};

struct divide_block {
    void* data;
    std::size_t count;
    int divisor;

    template <class T>
    HWY_ATTR void operator()() const {
        if constexpr (std::integral<T> && sizeof(T) <= 4) {
            if (divisor == 1) return;
            const std::size_t lanes = hn::Lanes(hn::ScalableTag<divided_whole::fraction<T>>());
            const quotient_step<T> step{static_cast<T*>(data), {divisor}};
            in_vectors(step, unaligned_head<T>(data, count, lanes), count, lanes);
        } else if constexpr (std::integral<T>) {
            const reciprocal by(static_cast<std::uint64_t>(divisor));
            auto* values = static_cast<T*>(data);
            for (std::size_t i = 0; i < count; ++i) values[i] = by.divide(values[i]);
        } else {
            change_block<divided>{data, data, count, {divisor}}.template operator()<T>();
        }
    }
};

inline void combine_here(reduce_op op, data_type type, void* target, const void* first, const void* second, std::size_t count) {
    visit(op, type, combine_block{target, first, second, count});
}

inline void merge_here(reduce_op op, data_type type, const merging& what, std::size_t count) { visit(op, type, merge_block{what, count}); }

inline void divide_here(data_type type, void* data, std::size_t count, int divisor) {
    visit_defined<reduce_op::avg>(type, divide_block{data, count, divisor});
}

inline void scale_here(data_type type, void* target, const void* source, std::size_t count, double factor) {
    visit_defined<reduce_op::premul>(type, change_block<scaled>{target, source, count, {factor}});
}
#endif

inline const char* name_here() { return hwy::TargetName(HWY_TARGET); }

}  // namespace tutti::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
