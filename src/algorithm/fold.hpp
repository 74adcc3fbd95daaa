// Algorithms that halve and double need a power of two. With P = 2^k + extra ranks the first 2 * extra fold into pairs: the even rank gives its
// contribution to the odd one, sits out, and gets the result at the end. halving_doubling.cpp shares the work of a pair instead.
#pragma once

#include <tutti/types.hpp>

#include <bit>

namespace tutti {

struct fold {
    int core;   // ranks that take part, a power of two
    int extra;  // ranks that sit out

    explicit constexpr fold(int size) noexcept : core(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))), extra(size - core) {}

    constexpr bool paired(rank r) const noexcept { return r < 2 * extra; }
    constexpr bool sits_out(rank r) const noexcept { return paired(r) && r % 2 == 0; }
    /// Returns the number, 0 to core - 1, of a rank that takes part. Numbers keep the order of ranks.
    constexpr int number(rank r) const noexcept { return paired(r) ? r / 2 : r - extra; }
    constexpr rank real(int number) const noexcept { return number < extra ? 2 * number + 1 : number + extra; }
};

}  // namespace tutti
