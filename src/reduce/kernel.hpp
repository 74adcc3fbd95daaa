// Arithmetic on blocks: two become one, or one is scaled. SIMD chosen at run time; results do not depend on which.
#pragma once

#include <tutti/types.hpp>

#include <cstddef>

namespace tutti {

/// target[i] = first[i] op second[i], for `count` elements. `target` may be `first` or `second`, and overlaps neither otherwise.
/// `avg` adds. Pointers need the alignment of the element type only.
void combine(reduce_op op, data_type type, void* target, const void* first, const void* second, std::size_t count) noexcept;

/// data[i] = data[i] / divisor: the end of an `avg`. Floating types round once (f16 and bf16 through float); integers truncate towards zero.
void divide(data_type type, void* data, std::size_t count, int divisor) noexcept;

/// The instruction set in use, "AVX2" for example.
const char* kernel_target() noexcept;

}  // namespace tutti
