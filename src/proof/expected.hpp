// The contract of each collective, and checks that an algorithm of the catalogue keeps it.
#pragma once

#include "algorithm/catalogue.hpp"
#include "proof/verify.hpp"

namespace tutti {

/// Returns the contract of a collective. `parts` is the number of blocks of plans that choose it: all_reduce, broadcast, reduce and scan.
contract expected(collective kind, int size, rank root, int parts);

/// Returns the roots worth checking: all up to 9 ranks, the ends and the middle of larger groups, and 0 for collectives without a root.
std::vector<rank> roots(collective kind, int size);

/// Returns the host maps worth checking that the algorithm serves: even and uneven hosts, with ranks in a row and in turns, and ranks alone. One host
/// if hosts do not matter to it; none if it does not serve the size.
std::vector<host_map> host_maps(const algorithm& entry, int size);

/// Returns one plan for each rank.
std::vector<schedule> build_all(const algorithm& entry, int size, rank root, const host_map& hosts = {});

verdict verify(const algorithm& entry, int size, rank root, const host_map& hosts = {});
/// Checks also that contributions are combined in the order of ranks.
verdict verify_ordered(const algorithm& entry, int size, rank root, const host_map& hosts = {});
/// Checks also that they are combined in the one order and grouping of the deterministic mode.
verdict verify_grouped(const algorithm& entry, int size, rank root, const host_map& hosts = {});
verdict verify_sliced(const algorithm& entry, int size, rank root, const host_map& hosts, const slicing& cut, std::uint32_t seed);

}  // namespace tutti
