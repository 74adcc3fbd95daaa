// A lane over a stream of bytes: a socket, a stream of a multiplexed link, memory or a simulated network in tests. Each frame is a header of 64
// bytes with its payload behind it.
#pragma once

#include "transport/lane.hpp"

namespace tutti {

/// For `make_lane`.
std::unique_ptr<lane> make_stream_lane(event_loop& loop, std::mutex& guard, std::unique_ptr<link> over, lane_owner& owner, lane::kind how,
                                       cork* together);

}  // namespace tutti
