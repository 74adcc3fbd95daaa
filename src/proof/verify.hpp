// Proves that a set of plans carries out a collective, in three passes, of which the first flaw counts:
//
// 1. Each plan by itself: steps name blocks and peers that exist, no step writes the input, no round has a race, and the rank's own block is not
//    read in the input after it may have been written in the output.
// 2. Plans against each other: the k-th send from one rank to another meets the k-th recv there, equally large, and rounds are shared at both ends.
// 3. A symbolic run (execution.hpp): each block holds a formula over contributions. The run must come to its end, read nothing unwritten, and leave
//    the formulas that the contract asks for, the same one on all ranks.
#pragma once

#include "proof/contract.hpp"
#include "proof/execution.hpp"

#include <string>

namespace tutti {

enum class flaw : std::uint8_t {
    none,
    bad_step,         // a peer or block that does not exist, or spaces that are not the collective's
    input_written,    // the user's memory is read-only
    race,             // in one round a block lands where another lands, is sent from, or a copy overlaps itself
    orphan,           // a send without recv, or a recv without send
    size_mismatch,    // what is sent is not as large as what is received
    split_round,      // two transfers share a round at one end only, so slices would arrive out of order
    deadlock,         // ranks wait for each other in a circle
    unwritten_read,   // a block is read before anything was written to it
    wrong_result,     // a contribution is missing, doubled or in the wrong place
    different_order,  // right, but combined in another order than on another rank, so the bits may differ
    not_in_order,     // right if the operator commutes, but not combined in the order of ranks that the contract asks for
    other_grouping,   // right, but not in the one grouping that the contract asks for
};
std::string_view name(flaw what) noexcept;

struct verdict {
    flaw what = flaw::none;
    std::string why;  // one sentence: rank, round, step

    bool correct() const noexcept { return what == flaw::none; }
};

/// Returns the first flaw found, by whole rounds. `plans` has one plan for each rank.
verdict verify(std::span<const schedule> plans, const contract& promise);

/// Verifies in slices by the engine's order rule, with events in an order that depends on `seed`.
verdict verify_sliced(std::span<const schedule> plans, const contract& promise, const slicing& cut, std::uint32_t seed);

}  // namespace tutti
