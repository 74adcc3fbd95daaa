// A call of Tutti's, made through MPI instead.
#pragma once

#include "support/oracle.hpp"

#include <optional>

namespace tutti::test {

/// Returns whether MPI has such a call: it knows no averages, no factors and no halves.
bool in_mpi(const call& what);

/// Returns the output of this rank of MPI_COMM_WORLD, not in place; none where MPI leaves it open.
std::optional<byte_vector> through_mpi(const call& what, const oracle& truth, rank me);

}  // namespace tutti::test
