// An operator that does not commute and is exact however pairs are grouped: products of matrices modulo a prime.
#pragma once

#include <tutti/reduction.hpp>

#include <cstdint>

namespace tutti::test {

struct matrix {
    std::uint8_t at[2][2];
};

inline matrix multiply(const matrix& left, const matrix& right) {
    matrix made{};
    for (int row = 0; row < 2; ++row)
        for (int column = 0; column < 2; ++column)
            made.at[row][column] =
                static_cast<std::uint8_t>((left.at[row][0] * right.at[0][column] + left.at[row][1] * right.at[1][column]) % 251);
    return made;
}

inline const custom_op<matrix> matrix_product("product of matrices", commutes::no, multiply);

}  // namespace tutti::test
