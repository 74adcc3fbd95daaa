// combine() and divide() for one instruction set; kernel.cpp compiles this file once for each and chooses at run time.
#if defined(TUTTI_REDUCE_BLOCK_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_REDUCE_BLOCK_INL_HPP
#undef TUTTI_REDUCE_BLOCK_INL_HPP
#else
#define TUTTI_REDUCE_BLOCK_INL_HPP
#endif

#include "reduce/half_inl.hpp"
#include "reduce/scalar.hpp"
#include "reduce/vector_inl.hpp"
#include "reduce/visit.hpp"

#include <hwy/highway.h>

#include <concepts>
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

inline void divide_here(data_type type, void* data, std::size_t count, int divisor) { divide_scalar(type, data, count, divisor); }

#else
template <class T>
inline constexpr bool is_half = std::same_as<T, float16> || std::same_as<T, bfloat16>;

template <class T>
using stored = std::conditional_t<is_half<T>, std::uint16_t, T>;

/// One vector's worth of `first op second`. Both are loaded before anything is stored, so `target` may be either.
template <reduce_op Op, class T>
struct combine_step {
    stored<T>* target;
    const stored<T>* first;
    const stored<T>* second;

    HWY_INLINE void operator()(std::size_t at) const {
        const hn::ScalableTag<stored<T>> d;
        const auto a = hn::LoadU(d, first + at);
        const auto b = hn::LoadU(d, second + at);
        if constexpr (is_half<T>) {
            using half = half_lanes<T>;
            const auto low = combine_lanes<Op>(half::low(a), half::low(b));
            hn::StoreU(half::join(low, combine_lanes<Op>(half::high(a), half::high(b))), d, target + at);
        } else {
            hn::StoreU(combine_lanes<Op>(a, b), d, target + at);
        }
    }
};

template <class T>
struct divide_step {
    stored<T>* data;
    int divisor;

    HWY_INLINE void operator()(std::size_t at) const {
        const hn::ScalableTag<stored<T>> d;
        const auto a = hn::LoadU(d, data + at);
        if constexpr (is_half<T>) {
            using half = half_lanes<T>;
            hn::StoreU(half::join(divide_lanes(half::low(a), divisor), divide_lanes(half::high(a), divisor)), d, data + at);
        } else {
            hn::StoreU(divide_lanes(a, divisor), d, data + at);
        }
    }
};

/// Runs `step` on all whole vectors, and returns how many elements that were.
template <class T, class Step>
HWY_INLINE std::size_t whole_vectors(std::size_t count, const Step& step) {
    const std::size_t lanes = hn::Lanes(hn::ScalableTag<stored<T>>());
    std::size_t at = 0;
    for (; at + 2 * lanes <= count; at += 2 * lanes) {
        step(at);
        step(at + lanes);
    }
    if (at + lanes <= count) {
        step(at);
        at += lanes;
    }
    return at;
}

/// What is left over, padded with zeros to one vector: the tail goes through the same instructions as the body.
template <class T>
struct padded {
    alignas(64) stored<T> values[HWY_MAX_BYTES / sizeof(T)] = {};

    padded(const void* source, std::size_t count) { std::memcpy(values, source, count * sizeof(T)); }
};

struct combine_block {
    void* target;
    const void* first;
    const void* second;
    std::size_t count;

    template <reduce_op Op, class T>
    HWY_ATTR void operator()() const {
        using S = stored<T>;
        auto* out = static_cast<S*>(target);
        const auto* a = static_cast<const S*>(first);
        const auto* b = static_cast<const S*>(second);
        const std::size_t done = whole_vectors<T>(count, combine_step<Op, T>{out, a, b});
        if (done == count) return;
        padded<T> mine(a + done, count - done);
        const padded<T> theirs(b + done, count - done);
        combine_step<Op, T>{mine.values, mine.values, theirs.values}(0);
        std::memcpy(out + done, mine.values, (count - done) * sizeof(T));
    }
};

struct divide_block {
    void* data;
    std::size_t count;
    int divisor;

    template <class T>
    HWY_ATTR void operator()() const {
        if constexpr (std::integral<T>) {
            divide_scalar(type_of<T>, data, count, divisor);  // there is no vector division of integers
        } else {
            auto* values = static_cast<stored<T>*>(data);
            const std::size_t done = whole_vectors<T>(count, divide_step<T>{values, divisor});
            if (done == count) return;
            padded<T> rest(values + done, count - done);
            divide_step<T>{rest.values, divisor}(0);
            std::memcpy(values + done, rest.values, (count - done) * sizeof(T));
        }
    }
};

inline void combine_here(reduce_op op, data_type type, void* target, const void* first, const void* second, std::size_t count) {
    visit(op, type, combine_block{target, first, second, count});
}

inline void divide_here(data_type type, void* data, std::size_t count, int divisor) {
    visit(type, divide_block{data, count, divisor});
}
#endif

inline const char* name_here() { return hwy::TargetName(HWY_TARGET); }

}  // namespace tutti::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
