// The identity of an operator: the result of combining no elements.
#pragma once

#include <tutti/reduction.hpp>

#include <cstddef>

namespace tutti {

/// Fills `count` elements with the identity of `op`, where it is defined for the type: 0 for sum, bor and bxor, 1 for prod, all bits for
/// band. For min it is the type's largest value and for max its smallest; in floating types these are plus and minus infinity. `avg` and
/// `premul` have the identity of sum. A user's operator has the one that it was given; without one nothing is filled in.
void fill_identity(const reduction& op, data_type type, void* target, std::size_t count) noexcept;

}  // namespace tutti
