#include "proof/matching.hpp"

namespace tutti {

matching::matching(std::span<const schedule> plans) : size_(static_cast<int>(plans.size())), channels_(plans.size() * plans.size()) {
    for (rank me = 0; me < size_; ++me) {
        const schedule& plan = plans[static_cast<std::size_t>(me)];
        for (int round = 0; round < plan.rounds(); ++round)
            for (const step& line : plan.round(round)) {
                if (line.what == action::send) channels_[index_of(me, line.peer)].sends.push_back({me, round, &line});
                if (line.what == action::recv || line.what == action::recv_reduce)
                    channels_[index_of(line.peer, me)].recvs.push_back({me, round, &line});
            }
    }
}

}  // namespace tutti
