// Is this set of plans right? Every rank's plan is checked step by step, against its peers', and by a symbolic run of all of them.
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
    split_round,      // transfers of one round at one end belong to several at the other, so slices would arrive out of order
    deadlock,         // ranks wait for each other in a circle
    unwritten_read,   // a block is read before anything was written to it
    wrong_result,     // a contribution is missing, doubled or in the wrong place
    different_order,  // right, but added in another order than on another rank: other bits
    not_in_order,     // right where the operator commutes: combined in another order than that of ranks, which the contract asks for
    other_grouping,   // right, but not grouped in the one way that the contract asks for
};
std::string_view name(flaw what) noexcept;

struct verdict {
    flaw what = flaw::none;
    std::string why;  // one sentence for people

    bool correct() const noexcept { return what == flaw::none; }
};

/// The first flaw found, by whole rounds. `plans` has one plan per rank.
verdict verify(std::span<const schedule> plans, const contract& promise);

/// The same under the engine's rule for slices, with events in an order that depends on `seed`.
verdict verify_sliced(std::span<const schedule> plans, const contract& promise, const slicing& cut, std::uint32_t seed);

}  // namespace tutti
