// The one order and grouping of contributions that the deterministic mode knows. Results that are combined so are the same bits,
// whatever else the plans that made them do.
#pragma once

#include "proof/expression.hpp"

namespace tutti {

/// Of part `wanted.index` of all `size` ranks: neighbours are paired from rank 0 on until a power of two is left, and then neighbours of
/// all again and again: ((0+1)+(2+3)), and (((0+1)+2)+(3+4)). Of the first ranks: each power of two of neighbours is added to the one
/// that ends where it begins: ((0+1)+(2+3)), and (0+((1+2)+(3+4))). It is the order of ranks always.
expressions::id grouped(expressions& formulas, piece wanted, int size);

}  // namespace tutti
