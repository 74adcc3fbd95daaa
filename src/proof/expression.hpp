// The content of a block, as a formula over contributions. Every formula is stored once, so equal formulas have equal ids, and two blocks with
// the same id hold the same bits.
#pragma once

#include "proof/contract.hpp"

#include <string>
#include <unordered_map>

namespace tutti {

class expressions {
public:
    using id = int;
    static constexpr id nothing = -1;  // never written

    id of(piece what);
    /// Returns `first` and `second` combined, in this order; nothing if one of them is nothing.
    id combined(id first, id second);

    /// Returns the contributions in a formula, from left to right.
    std::vector<piece> pieces(id which) const;
    /// Returns "((0+1)+2)": owners, with ".index" where the index is not 0.
    std::string text(id which) const;

private:
    struct node {
        id first = nothing;  // nothing: a single piece
        id second = nothing;
        piece what;
    };
    id keep(std::uint64_t key, const node& value);

    std::vector<node> nodes_;
    std::unordered_map<std::uint64_t, id> known_;
};

}  // namespace tutti
