// What each collective promises, and whether an algorithm of the catalogue keeps it.
#pragma once

#include "algorithm/catalogue.hpp"
#include "proof/verify.hpp"

namespace tutti {

/// For plans that cut their vector in `parts` (all_reduce, broadcast, reduce; the others have as many blocks as ranks).
contract expected(collective kind, int size, rank root, int parts);

/// The roots worth checking: all of a small world; the ends and the middle of a larger one; 0 where there is none.
std::vector<rank> roots(collective kind, int size);

/// The hosts worth checking, of those that it serves: even and uneven ones, with ranks in a row and in turns, and ranks alone. One host where
/// it does not matter; none when it does not serve the size.
std::vector<host_map> host_maps(const algorithm& entry, int size);

/// One plan per rank.
std::vector<schedule> build_all(const algorithm& entry, int size, rank root, const host_map& hosts = {});

verdict verify(const algorithm& entry, int size, rank root, const host_map& hosts = {});
/// Also whether contributions are combined in the order of ranks.
verdict verify_ordered(const algorithm& entry, int size, rank root, const host_map& hosts = {});
/// Also whether in the one order and grouping that the deterministic mode knows.
verdict verify_grouped(const algorithm& entry, int size, rank root, const host_map& hosts = {});
verdict verify_sliced(const algorithm& entry, int size, rank root, const host_map& hosts, const slicing& cut, std::uint32_t seed);

}  // namespace tutti
