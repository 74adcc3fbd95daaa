// Ranks in a line: each receives from the one before it, then sends to the one behind it.
#pragma once

#include "schedule/schedule.hpp"

#include <vector>

namespace tutti::test {

inline std::vector<schedule> line(int size) {
    std::vector<schedule> plans;
    for (rank me = 0; me < size; ++me) {
        schedule plan({.output = 1});
        if (me > 0) plan.round(recv(me - 1, output(0)));
        if (me + 1 < size) plan.round(send(me + 1, output(0)));
        plans.push_back(plan);
    }
    return plans;
}

}  // namespace tutti::test
