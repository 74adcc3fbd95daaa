// Plans of a single step: one rank sends, the other receives. They are built from the peer, so they stand beside the catalogue.
#pragma once

#include "schedule/schedule.hpp"

namespace tutti {

inline schedule point_to_point_send(rank peer) {
    schedule plan({.input = 1});
    plan.round(send(peer, input(0)));
    return plan;
}

inline schedule point_to_point_recv(rank peer) {
    schedule plan({.output = 1});
    plan.round(recv(peer, output(0)));
    return plan;
}

}  // namespace tutti
