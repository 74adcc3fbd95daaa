// The promise of a collective, in terms of a plan: the contents of its blocks at the start, and what they must be at the end.
#pragma once

#include "schedule/schedule.hpp"

namespace tutti {

/// Part `index` of the contribution of `owner`.
struct piece {
    rank owner = 0;
    int index = 0;

    friend bool operator==(const piece&, const piece&) = default;
};
/// As an owner: that part of every rank, combined.
inline constexpr rank every_rank = -1;
/// As an owner: that part of ranks 0 to count - 1, combined. At least one.
constexpr rank first_ranks(int count) noexcept { return -1 - count; }

struct holding {
    blocks where;  // one block
    piece what;
};

/// The promise for one rank. Blocks that are not named are empty at the start and may hold anything at the end.
struct terms {
    std::vector<holding> begins;
    std::vector<holding> ends;
    // A number for each block of input, then output. Blocks of equal numbers, on any ranks, have equal sizes. A scratch block is as large as the
    // input's block of its number.
    std::vector<int> sizes{};
};

/// The promise for all ranks, which `verify` checks. `expected` makes it for each collective.
struct contract {
    std::vector<terms> ranks;
    shape spaces;                  // the input and output of every plan; each plan chooses its scratch
    bool equal_blocks = false;     // all blocks have one size, scratch too; otherwise `sizes` counts, or without it the block's number
    bool repeats_allowed = false;  // a contribution may be combined several times (barrier), and in any order
    bool ordered = false;          // contributions are combined in the order of ranks, for operators that do not commute
    bool grouped = false;          // and in the grouping of proof/grouping.hpp
};

/// Returns the index of a block in one row of all spaces: input, output, scratch.
constexpr int position(const shape& spaces, space where, int index) noexcept {
    if (where == space::input) return index;
    return spaces.input + (where == space::output ? 0 : spaces.output) + index;
}
constexpr int total(const shape& spaces) noexcept { return spaces.input + spaces.output + spaces.scratch; }

}  // namespace tutti
