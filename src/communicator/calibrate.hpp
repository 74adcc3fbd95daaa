// What things cost here and now, measured by the collectives themselves when a job has joined.
#pragma once

#include "group/group.hpp"

#include <tutti/communicator.hpp>
#include <tutti/cost_model.hpp>

namespace tutti::detail {

/// All ranks call it, before anything else happens on `world`. In some 30 ms (longer only where one 64 KiB all-gather takes milliseconds)
/// it times three collectives on rank 0, and takes the numbers with which their estimates are what was measured: a barrier for `round`, and
/// for `message` and `link` where it is faster than was thought; an all-gather of at most 1 MiB for `moved_byte`, `packet`,
/// `spread_byte` and `forwarded_byte`, which keep their ratios; an all-reduce of the same vector for `reduced_byte`. What is measured is
/// therefore the whole of a round on these ranks, waking up included, and bytes that fit in caches; where ranks share cores `round` and `message` are that without `crowded`. `crowded`,
/// `uneven` and `cores` stay. In a group of several hosts `far_round` and `far_byte` are what is fitted first, and what is near stays: one
/// measurement cannot tell both. All ranks get rank 0's numbers.
task<cost_model> calibrate(communicator& world, group& inside);

}  // namespace tutti::detail
