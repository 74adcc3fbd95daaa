// The identity of an operator: the result of combining no elements.
#pragma once

#include <tutti/reduction.hpp>

#include <cstddef>

namespace tutti {

/// Fills `count` elements with the identity of `op`, where it is defined for the type: 0 for sum, bor and bxor, 1 for prod, all bits for
/// band; for min the type's largest value and for max its smallest, which of floating types are plus and minus infinity. `avg` and
/// `premul` have the identity of sum, and a user's operator the one it was given; of one without, nothing is filled in.
void fill_identity(const reduction& op, data_type type, void* target, std::size_t count) noexcept;

}  // namespace tutti
