// Sums of several peers. When all peers of a sum have lent their payloads, these are combined in one pass where they lie, when the last one
// comes. The sum is written to where each peer wants it. A payload that comes earlier is parked in its lane.
#pragma once

#include "engine/port_lane.hpp"

namespace tutti {

/// Decides about the frame of such a sum that has come over `on`, the only lane of its port: through all payloads at once, here like any
/// other frame, or park until the last one has come.
landing meet(port_lane& on) noexcept;

/// Combines a part of the payload that came last with the same part of all others, and marks these as `met`. Their own frames are passed
/// over when their lanes resume.
std::size_t combine_together(port_lane& on, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept;

}  // namespace tutti
