// The binomial tree over virtual ranks, of which the root has number 0. The parent of v is v without its lowest bit.
#pragma once

#include "algorithm/catalogue.hpp"
#include "algorithm/wrap.hpp"

#include <bit>

namespace tutti {

struct binomial {
    int size;
    rank root;
    int me;    // virtual
    int span;  // a power of two: the subtree of `me` has the virtual ranks me to me + span - 1, as far as they exist

    explicit constexpr binomial(participant at) noexcept
        : size(at.size),
          root(at.root),
          me(wrap(at.me - at.root, at.size)),
          span(me == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(at.size))) : me & -me) {}

    constexpr rank real(int number) const noexcept { return wrap(number + root, size); }
    constexpr rank parent() const noexcept { return real(me - span); }
};

}  // namespace tutti
