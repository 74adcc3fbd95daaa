// Measures the costs of this job by its own collectives, when it has joined.
#pragma once

#include "group/group.hpp"

#include <tutti/communicator.hpp>
#include <tutti/cost_model.hpp>

namespace tutti::detail {

/// Times three collectives on rank 0 in some 30 ms (longer only where a 64 KiB all-gather takes milliseconds), and returns costs whose
/// estimates are the measured times. All ranks call it before anything else happens on `world`, and get rank 0's numbers.
///
/// - A barrier gives `round`, and also `message` if it is faster than estimated.
/// - An all-gather of at most 1 MiB gives `moved_byte`.
/// - An all-reduce of the same vector gives `reduced_byte`.
///
/// So a round includes waking up, and the bytes fit in caches. `cores` stays. In a group of several hosts the first two give `far_round` and
/// `far_byte`, and the near costs stay, because one measurement cannot tell both.
task<cost_model> calibrate(communicator& world, group& inside);

}  // namespace tutti::detail
