#include "schedule/cost.hpp"

#include <algorithm>

namespace tutti {

cost count(const schedule& plan, rank me, const host_map& hosts) {
    cost total;
    total.rounds = plan.rounds();
    total.steps = static_cast<int>(plan.steps().size());
    total.whole = std::max({1, plan.spaces().input, plan.spaces().output});
    for (int round = 0; round < plan.rounds(); ++round) {
        long far_sent = 0, far_received = 0;
        bool exchange = false, far_exchange = false;
        for (const step& line : plan.round(round)) {
            if (line.what == action::copy) {
                total.copied += line.here.count;
                continue;
            }
            const bool far = hosts.host(me) != hosts.host(line.peer), sends = line.what == action::send;
            exchange = true;
            far_exchange |= far;
            ++total.messages;
            (sends ? total.sent : total.received) += line.here.count;
            if (far) (sends ? far_sent : far_received) += line.here.count;
            if (line.what == action::recv_reduce) total.reduced += line.here.count;
        }
        total.exchanges += exchange;
        total.far_exchanges += far_exchange;
        total.far_sent += far_sent;
        total.far_received += far_received;
        total.far_serial += std::max(far_sent, far_received);
    }
    return total;
}

}  // namespace tutti
