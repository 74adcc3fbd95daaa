// The binomial tree over virtual ranks, in which the root is 0: rank v hangs below v without its lowest bit.
#pragma once

#include "algorithm/catalogue.hpp"
#include "algorithm/wrap.hpp"

#include <bit>

namespace tutti {

struct binomial {
    int size;
    rank root;
    int me;    // virtual
    int span;  // virtual ranks me to me + span - 1, as far as they exist, are the tree below and including me; a power of two

    explicit constexpr binomial(participant at) noexcept
        : size(at.size),
          root(at.root),
          me(wrap(at.me - at.root, at.size)),
          span(me == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(at.size))) : me & -me) {}

    constexpr rank real(int number) const noexcept { return wrap(number + root, size); }
    constexpr rank parent() const noexcept { return real(me - span); }
};

}  // namespace tutti
