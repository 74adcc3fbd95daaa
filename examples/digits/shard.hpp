// Distributes the images over the ranks: an epoch's order is cut into global batches, and each batch into one contiguous part per rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace digits {

/// The images 0 to count - 1 in the order in which this epoch visits them: the same on all ranks, another in each epoch.
std::vector<std::size_t> visiting_order(std::size_t count, std::uint64_t seed, int epoch);

/// The `index`-th global batch of `order`, at most `batch` long; empty behind the last.
std::span<const std::size_t> global_batch(std::span<const std::size_t> order, std::size_t batch, std::size_t index);

/// The part of `whole` that belongs to `rank`. Parts differ by at most one in length, and are empty where ranks outnumber the elements.
std::span<const std::size_t> part(std::span<const std::size_t> whole, int rank, int ranks);

}  // namespace digits
