// Which transfers bring back what belongs into memory that was sent to the same peer before: a plan says so by itself.
#pragma once

#include "schedule/schedule.hpp"

namespace tutti {

/// Whether blocks may share memory: input and output may be the same.
bool may_overlap(const blocks& one, const blocks& other) noexcept;

/// The recv from the same peer into the blocks of `sent`, a send of that round, when no other step touches them from the send on; null when there
/// is none.
const step* answering(const schedule& plan, int round, const step& sent) noexcept;

/// The send that takes what becomes of `reduced`, a recv_reduce of that round, back to its peer, before anything else is written there; null when
/// there is none.
const step* returning(const schedule& plan, int round, const step& reduced) noexcept;

/// Whether several of that round are reduced into the blocks of `reduced` and what becomes of them is returned to each, and `reduced` is not the
/// first of these: where memory is shared all are summed in one pass.
bool folded(const schedule& plan, int round, const step& reduced) noexcept;

}  // namespace tutti
