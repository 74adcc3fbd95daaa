#include "schedule/cost.hpp"

#include <algorithm>
#include <map>

namespace tutti {

cost count(const schedule& plan, rank me, const host_map& hosts) {
    cost total;
    total.rounds = plan.rounds();
    total.steps = static_cast<int>(plan.steps().size());
    total.whole = std::max({1, plan.spaces().input, plan.spaces().output});
    std::map<rank, long> sent_to;
    for (int round = 0; round < plan.rounds(); ++round) {
        long sent = 0, received = 0, far_sent = 0, far_received = 0;
        const int messages = total.messages;
        bool far_round = false;
        for (const step& line : plan.round(round)) {
            const bool far = line.what != action::copy && hosts.host(me) != hosts.host(line.peer);
            far_round |= far;
            if (far) (line.what == action::send ? far_sent : far_received) += line.here.count;
            total.messages += line.what != action::copy;
            if (line.what == action::copy) total.copied += line.here.count;
            if (line.what == action::send) sent += line.here.count, sent_to[line.peer] += line.here.count;
            if (line.what == action::recv || line.what == action::recv_reduce) received += line.here.count;
            if (line.what == action::recv_reduce) total.reduced += line.here.count;
        }
        total.exchanges += total.messages > messages;
        total.far_exchanges += far_round;
        total.sent += sent;
        total.received += received;
        total.serial += std::max(sent, received);
        total.far_sent += far_sent;
        total.far_received += far_received;
        total.far_serial += std::max(far_sent, far_received);
    }
    long most = 0;
    for (const auto& [peer, blocks] : sent_to) most = std::max(most, blocks);
    total.spread = total.sent - most;
    return total;
}

}  // namespace tutti
