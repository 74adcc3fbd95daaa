#include "digits/matrix.hpp"

namespace digits {
namespace {

// `Width` neighbours of one row of the target, kept in registers while they walk down the depth.
template <std::size_t Width>
void accumulate_block(float* target, matrix_view left, std::size_t depth, const float* right, std::size_t columns) {
    float sums[Width];
    for (std::size_t i = 0; i < Width; ++i) sums[i] = target[i];
    for (std::size_t k = 0; k < depth; ++k) {
        const float factor = left.data[k * left.column];
        for (std::size_t i = 0; i < Width; ++i) sums[i] += factor * right[k * columns + i];
    }
    for (std::size_t i = 0; i < Width; ++i) target[i] = sums[i];
}

constexpr std::size_t lanes = 16;

float dot(const float* left, const float* right, std::size_t depth) {
    float sums[lanes] = {};
    std::size_t k = 0;
    for (; k + lanes <= depth; k += lanes)
        for (std::size_t i = 0; i < lanes; ++i) sums[i] += left[k + i] * right[k + i];
    for (std::size_t i = 0; k + i < depth; ++i) sums[i] += left[k + i] * right[k + i];
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    return sums[0];
}

}  // namespace

void accumulate_product(float* target, std::size_t rows, std::size_t columns, matrix_view left, std::size_t depth, const float* right) {
    constexpr std::size_t wide = 32;
    constexpr std::size_t narrow = 4;
    if (depth == 0) return;  // there is nothing to point at
    for (std::size_t r = 0; r < rows; ++r) {
        const matrix_view line{left.data + r * left.row, left.row, left.column};
        float* const out = target + r * columns;
        std::size_t c = 0;
        for (; c + wide <= columns; c += wide) accumulate_block<wide>(out + c, line, depth, right + c, columns);
        for (; c + narrow <= columns; c += narrow) accumulate_block<narrow>(out + c, line, depth, right + c, columns);
        for (; c < columns; ++c) accumulate_block<1>(out + c, line, depth, right + c, columns);
    }
}

void product_with_transposed(float* target, std::size_t rows, std::size_t columns, const float* left, std::size_t depth,
                             const float* right) {
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c) target[r * columns + c] = dot(left + r * depth, right + c * depth, depth);
}

}  // namespace digits
