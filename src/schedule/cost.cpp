#include "schedule/cost.hpp"

#include "schedule/answers.hpp"

#include <algorithm>
#include <vector>

namespace tutti {
namespace {

/// Who is sent to, how much, and from which exchange to which.
class lanes {
public:
    void send(rank to, long blocks, long answered, int exchange) {
        const auto peer = static_cast<std::size_t>(to);
        if (peer >= lanes_.size()) lanes_.resize(peer + 1);
        lane& over = lanes_[peer];
        if (over.first < 0) over.first = exchange, ++used_;
        over.sent += blocks;
        over.answered += answered;
        over.last = exchange;
    }
    /// `far_before`: by exchange, how many before it are far; the end, too.
    void tell(cost& total, const std::vector<int>& far_before) const {
        long most = 0, most_answered = 0;
        for (const lane& over : lanes_) {
            most = std::max(most, over.sent);
            most_answered = std::max(most_answered, over.answered);
            if (over.last - over.first <= total.lane_rounds) continue;
            total.lane_rounds = over.last - over.first;
            total.far_lane_rounds =
                far_before[static_cast<std::size_t>(over.last) + 1] - far_before[static_cast<std::size_t>(over.first) + 1];
        }
        const long others = used_ - 1;
        total.spread = (total.sent - most) * others;
        total.spread_answered = (total.answered - most_answered) * others;
    }

private:
    struct lane {
        long sent = 0, answered = 0;
        int first = -1, last = -1;  // none
    };
    std::vector<lane> lanes_;  // by peer
    long used_ = 0;
};

}  // namespace

int peers(const schedule& plan, rank me, const host_map& hosts) {
    std::vector<rank> all;
    for (const step& line : plan.steps())
        if (is_transfer(line) && hosts.host(me) == hosts.host(line.peer)) all.push_back(line.peer);
    std::sort(all.begin(), all.end());
    return static_cast<int>(std::unique(all.begin(), all.end()) - all.begin());
}

cost count(const schedule& plan, rank me, const host_map& hosts) {
    cost total;
    total.rounds = plan.rounds();
    total.steps = static_cast<int>(plan.steps().size());
    const int others = std::max(0, peers(plan, me, hosts) - 1);
    total.whole = std::max({1, plan.spaces().input, plan.spaces().output});
    const answers all(plan);
    lanes used;
    std::vector<int> far_before{0};
    for (int round = 0; round < plan.rounds(); ++round) {
        long sent = 0, received = 0, far_sent = 0, far_received = 0;
        const int messages = total.messages;
        bool far_round = false;
        for (const step& line : plan.round(round)) {
            const bool far = is_transfer(line) && hosts.host(me) != hosts.host(line.peer);
            far_round |= far;
            if (far) (line.what == action::send ? far_sent : far_received) += line.here.count;
            total.messages += is_transfer(line);
            total.linked += is_transfer(line) && !far ? others : 0;
            total.sends += line.what == action::send;
            if (line.what == action::copy) total.copied += line.here.count;
            if (line.what == action::send) {
                const long answered = !far && all.to(line) ? line.here.count : 0;
                sent += line.here.count;
                total.answered += answered;
                used.send(line.peer, line.here.count, answered, total.exchanges);
            }
            if (line.what == action::recv || line.what == action::recv_reduce) received += line.here.count;
            if (line.what == action::recv_reduce) {
                total.reduced += line.here.count;
                const bool some = all.together(line) > 1 && all.together(line) <= static_cast<int>(most_merged);
                if (some && merged(plan, round, line, me, hosts)) total.merged += line.here.count;
            }
        }
        total.far_exchanges += far_round;
        if (total.messages > messages) {
            ++total.exchanges;
            far_before.push_back(total.far_exchanges);
        }
        total.sent += sent;
        total.received += received;
        total.far_sent += far_sent;
        total.far_received += far_received;
        total.far_serial += std::max(far_sent, far_received);
    }
    used.tell(total, far_before);
    return total;
}

}  // namespace tutti
