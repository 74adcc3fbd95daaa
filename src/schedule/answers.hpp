// Which transfers bring back what belongs into memory that was sent to the same peer before: a plan says so by itself.
#pragma once

#include "schedule/schedule.hpp"

namespace tutti {

/// Whether blocks may share memory: input and output may be the same.
bool may_overlap(const blocks& one, const blocks& other) noexcept;

/// The recv from the same peer into the blocks of `sent`, a send of that round, when no other step touches them from the send on; null when there
/// is none.
const step* answering(const schedule& plan, int round, const step& sent) noexcept;

}  // namespace tutti
