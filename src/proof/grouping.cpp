#include "proof/grouping.hpp"

#include <bit>
#include <vector>

namespace tutti {
namespace {

using id = expressions::id;

id all_ranks(expressions& formulas, int size, int index) {
    const int extra = size - static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    std::vector<id> parts;
    for (rank each = 0; each < size; ++each) {
        const id one = formulas.of({each, index});
        if (each < 2 * extra && each % 2 == 1) parts.back() = formulas.combined(parts.back(), one);
        else parts.push_back(one);
    }
    for (; parts.size() > 1; parts.resize(parts.size() / 2))
        for (std::size_t pair = 0; pair < parts.size() / 2; ++pair) parts[pair] = formulas.combined(parts[2 * pair], parts[2 * pair + 1]);
    return parts[0];
}

id ranks_before(expressions& formulas, int count, int index) {
    std::vector<id> sums;
    for (rank each = 0; each < count; ++each) sums.push_back(formulas.of({each, index}));
    for (std::size_t distance = 1; distance < sums.size(); distance *= 2)
        for (std::size_t each = sums.size() - 1; each >= distance; --each)
            sums[each] = formulas.combined(sums[each - distance], sums[each]);
    return sums.back();
}

}  // namespace

expressions::id grouped(expressions& formulas, piece wanted, int size) {
    if (wanted.owner == every_rank) return all_ranks(formulas, size, wanted.index);
    if (wanted.owner < 0) return ranks_before(formulas, first_ranks(wanted.owner), wanted.index);
    return formulas.of(wanted);
}

}  // namespace tutti
