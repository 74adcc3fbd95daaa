// The two products a dense layer needs, as loops that a compiler turns into vector code. The order of additions is fixed, so that
// every rank computes the same bits.
#pragma once

#include <cstddef>

namespace digits {

/// A matrix in memory: element (r, c) is data[r * row + c * column].
struct matrix_view {
    const float* data;
    std::size_t row;
    std::size_t column;
};

/// target += left * right. `target` (rows x columns) and `right` (depth x columns) are stored row by row without gaps.
void accumulate_product(float* target, std::size_t rows, std::size_t columns, matrix_view left, std::size_t depth, const float* right);

/// target = left * transposed(right). `target` (rows x columns), `left` (rows x depth) and `right` (columns x depth), row by row.
void product_with_transposed(float* target, std::size_t rows, std::size_t columns, const float* left, std::size_t depth,
                             const float* right);

}  // namespace digits
