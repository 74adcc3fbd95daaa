// What changes nothing: the result of combining no elements at all.
#pragma once

#include <tutti/types.hpp>

#include <cstddef>

namespace tutti {

/// Fills `count` elements with the identity of `op`: 0 for sum, 1 for prod; for min the type's largest value and for max its smallest,
/// which of floating types are plus and minus infinity. `avg` has the identity of sum.
void fill_identity(reduce_op op, data_type type, void* target, std::size_t count) noexcept;

}  // namespace tutti
