#include "reduce/kernel.hpp"

#include "base/check.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduce/block_inl.hpp"
#include <hwy/foreach_target.h>

#include "reduce/block_inl.hpp"

namespace tutti {

HWY_EXPORT(combine_here);
HWY_EXPORT(merge_here);
HWY_EXPORT(divide_here);
HWY_EXPORT(scale_here);
HWY_EXPORT(name_here);

void combine(const reduction& op, data_type type, void* target, const void* first, const void* second, std::size_t count) {
    if (op.user()) op.user()->combine(target, first, second, count);
    else HWY_DYNAMIC_DISPATCH(combine_here)(op.kind(), type, target, first, second, count);
}

void merge(const reduction& op, data_type type, const merging& what, std::size_t count) noexcept {
    TUTTI_CHECK(!op.user(), "a custom operator may throw, and does not commute");
    HWY_DYNAMIC_DISPATCH(merge_here)(op.kind(), type, what, count);
}

void divide(data_type type, void* data, std::size_t count, int divisor) noexcept {
    TUTTI_CHECK(divisor >= 1, "an average is over at least one rank");
    HWY_DYNAMIC_DISPATCH(divide_here)(type, data, count, divisor);
}

void scale(data_type type, void* target, const void* source, std::size_t count, double factor) noexcept {
    HWY_DYNAMIC_DISPATCH(scale_here)(type, target, source, count, factor);
}

const char* kernel_target() noexcept { return HWY_DYNAMIC_DISPATCH(name_here)(); }

}  // namespace tutti
