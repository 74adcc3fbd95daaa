// Arithmetic on blocks: two or more are combined, or one is scaled. Highway chooses the instruction set at run time. Every set gives the bits of the
// definition in scalar.hpp: each operation is rounded by itself, f16 and bf16 are computed in float and then rounded once to nearest even, and a NaN
// result is canonical. Nothing here has state, so any thread may call it.
#pragma once

#include "reduce/merging.hpp"

#include <tutti/reduction.hpp>

#include <cstddef>

namespace tutti {

/// target[i] = first[i] op second[i], for `count` elements. `target` may be `first` or `second`, and overlaps neither otherwise.
/// `avg` and `premul` add. Pointers need the alignment of the element type only. The operator is defined for the type. Throws only what a
/// custom_op throws.
void combine(const reduction& op, data_type type, void* target, const void* first, const void* second, std::size_t count);

/// own[i] = (first[i] op others[0][i]) op others[1][i] and so on, and the same into each of `also`. One pass over memory makes the bits of as many calls
/// of combine(). Not for custom operators. The others give the same bits whichever operand comes first, so any part may be `first`.
void merge(const reduction& op, data_type type, const merging& what, std::size_t count) noexcept;

/// data[i] = data[i] / divisor: the end of an `avg`. Floating types round once (f16 and bf16 through float); integers truncate towards zero.
void divide(data_type type, void* data, std::size_t count, int divisor) noexcept;

/// target[i] = source[i] * factor: the beginning of a `premul`. `target` may be `source`.
void scale(data_type type, void* target, const void* source, std::size_t count, double factor) noexcept;

/// The instruction set in use, "AVX2" for example.
const char* kernel_target() noexcept;

}  // namespace tutti
