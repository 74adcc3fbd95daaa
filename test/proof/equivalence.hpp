// Proofs that a damaged plan still does its work, by reasons other than the verifier's: what the steps touch and who waits for whom.
#pragma once

#include "algorithm/catalogue.hpp"

#include <vector>

namespace tutti {

/// A plan that can be taken apart.
using rounds = std::vector<std::vector<step>>;
using world = std::vector<rounds>;

struct damaged_place {
    collective kind;
    rank root;
    std::size_t who;    // whose plan
    std::size_t round;  // in the healthy world
    std::size_t index;
};

/// The step was doubled, is a copy, and nothing after it in the round writes to what it reads or writes.
bool same_copy_again(const world& healthy, const damaged_place& where);
/// This round and the next were swapped or merged, and neither notices: they share no channel, neither writes what the other uses, and no ranks
/// wait in a circle. Values that are there already may be written, and additions to one sum that is finished, or formed before it leaves, at
/// one rank.
bool independent_rounds(const world& healthy, const world& damaged, const damaged_place& where, bool swapped);
/// A barrier in which still no rank can end before all have begun, and nothing lands where the same round reads.
bool still_a_barrier(const world& damaged, const damaged_place& where);
/// A recv of a barrier became a recv_reduce: whom this rank had heard of before is not forgotten, and hearing twice is allowed.
bool only_heard_more(const world& healthy, const damaged_place& where);
/// A recv, and its send, of a broadcast were dropped, but the receiver had the block already. (In a broadcast block k only ever holds
/// the root's block k, since nothing is reduced and sizes forbid other places.)
bool had_it_already(const world& healthy, const damaged_place& recv_place);

}  // namespace tutti
