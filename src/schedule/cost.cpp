#include "schedule/cost.hpp"

#include <algorithm>
#include <map>

namespace tutti {

cost count(const schedule& plan) {
    cost total;
    total.rounds = plan.rounds();
    total.steps = static_cast<int>(plan.steps().size());
    total.whole = std::max({1, plan.spaces().input, plan.spaces().output});
    std::map<rank, long> sent_to;
    for (int round = 0; round < plan.rounds(); ++round) {
        long sent = 0, received = 0;
        const int messages = total.messages;
        for (const step& line : plan.round(round)) {
            total.messages += line.what != action::copy;
            if (line.what == action::copy) total.copied += line.here.count;
            if (line.what == action::send) sent += line.here.count, sent_to[line.peer] += line.here.count;
            if (line.what == action::recv || line.what == action::recv_reduce) received += line.here.count;
            if (line.what == action::recv_reduce) total.reduced += line.here.count;
        }
        total.exchanges += total.messages > messages;
        total.sent += sent;
        total.received += received;
        total.serial += std::max(sent, received);
    }
    long most = 0;
    for (const auto& [peer, blocks] : sent_to) most = std::max(most, blocks);
    total.spread = total.sent - most;
    return total;
}

}  // namespace tutti
