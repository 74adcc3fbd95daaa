// The one order and grouping of contributions in the deterministic mode. All plans that combine so make the same bits.
#pragma once

#include "proof/expression.hpp"

namespace tutti {

/// Returns the formula for `wanted`, always in the order of ranks. For every rank: neighbours are paired from rank 0 on until a power of two is left,
/// and then all neighbours again and again: ((0+1)+(2+3)), and (((0+1)+2)+(3+4)). For the first ranks (scans): a sum over a power of two of
/// neighbours is added to the sum that ends where it begins: ((0+1)+(2+3)), and (0+((1+2)+(3+4))).
expressions::id grouped(expressions& formulas, piece wanted, int size);

}  // namespace tutti
