// A lane in shared memory. Each frame is a cell. Its payload stands in the cell, is lent, or follows in the ring.
#pragma once

#include "transport/lane.hpp"
#include "transport/near_link.hpp"

namespace tutti {

/// For `make_lane`: `near` belongs to `over`.
std::unique_ptr<lane> make_near_lane(event_loop& loop, std::mutex& guard, std::unique_ptr<link> over, near_link& near, lane_owner& owner,
                                     lane::kind how);

}  // namespace tutti
