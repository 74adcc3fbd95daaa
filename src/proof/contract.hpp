// What a collective promises, in a plan's own terms: what the blocks hold at the start, and what they must hold at the end.
#pragma once

#include "schedule/schedule.hpp"

namespace tutti {

/// One contribution: part `index` of what `owner` brings.
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

/// For one rank. Blocks that are not named hold nothing at the start and anything at the end.
struct terms {
    std::vector<holding> begins;
    std::vector<holding> ends;
    // Of the blocks of input, then output: equal numbers, on whatever ranks, are equal sizes. A scratch block is as large as the input's
    // of its number.
    std::vector<int> sizes{};
};

struct contract {
    std::vector<terms> ranks;
    shape spaces;                  // what input and output of every plan must be; scratch is the plan's own business
    bool equal_blocks = false;     // all blocks have one size, scratch too; otherwise what `sizes` says, or without it the block's number
    bool repeats_allowed = false;  // a contribution may be combined several times (barrier), and in any order
    bool ordered = false;          // contributions are combined in the order of ranks, for operators that do not commute
    bool grouped = false;          // and as proof/grouping.hpp says
};

/// Blocks of all spaces in one row: input, output, scratch.
constexpr int position(const shape& spaces, space where, int index) noexcept {
    if (where == space::input) return index;
    return spaces.input + (where == space::output ? 0 : spaces.output) + index;
}
constexpr int total(const shape& spaces) noexcept { return spaces.input + spaces.output + spaces.scratch; }

}  // namespace tutti
