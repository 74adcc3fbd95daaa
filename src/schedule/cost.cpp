#include "schedule/cost.hpp"

#include "schedule/answers.hpp"

#include <algorithm>
#include <vector>

namespace tutti {
namespace {

/// The peers to which a plan sends, and the exchanges of the first and the last send to each.
class lanes {
public:
    void send(rank to, int exchange, bool far) {
        const auto peer = static_cast<std::size_t>(to);
        if (peer >= lanes_.size()) lanes_.resize(peer + 1);
        lane& over = lanes_[peer];
        if (over.first < 0) over.first = exchange, near_ += !far;
        over.last = exchange;
    }
    /// `far_before` has for each exchange, and for the end, the number of far exchanges before it.
    void tell(cost& total, const std::vector<int>& far_before) const {
        total.links = near_;
        for (const lane& over : lanes_) {
            if (over.last - over.first <= total.lane_rounds) continue;
            total.lane_rounds = over.last - over.first;
            total.far_lane_rounds =
                far_before[static_cast<std::size_t>(over.last) + 1] - far_before[static_cast<std::size_t>(over.first) + 1];
        }
    }

private:
    struct lane {
        int first = -1, last = -1;  // none
    };
    std::vector<lane> lanes_;  // by peer
    int near_ = 0;             // of them, on this host
};

/// Marks the blocks that were received and not sent since.
class arrivals {
public:
    explicit arrivals(const shape& spaces)
        : output_(static_cast<std::size_t>(spaces.output)),
          scratch_(static_cast<std::size_t>(spaces.scratch)) {}

    void recv(const blocks& what) { exchange(what, true); }
    /// Removes the marks of `what` and returns how many there were.
    long send(const blocks& what) { return exchange(what, false); }

private:
    long exchange(const blocks& what, bool unsent) {
        if (what.where == space::input) return 0;
        const auto first = (what.where == space::output ? output_ : scratch_).begin() + what.first, last = first + what.count;
        const auto found = std::count(first, last, true);
        std::fill(first, last, unsent);
        return found;
    }

    std::vector<bool> output_, scratch_;  // by block
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
    arrivals came(plan.spaces());
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
            if (is_transfer(line) && !far) ++total.lengths[line.here.count];
            if (line.what == action::copy) total.copied += line.here.count;
            if (line.what == action::send) {
                const long answered = !far && all.to(line) ? line.here.count : 0;
                sent += line.here.count;
                total.forwarded += came.send(line.here);
                total.answered += answered;
                used.send(line.peer, total.exchanges, far);
            }
            if (line.what == action::recv || line.what == action::recv_reduce) received += line.here.count;
            if (line.what == action::recv_reduce) {
                total.reduced += line.here.count;
                const bool some = all.together(line) > 1 && all.together(line) <= static_cast<int>(most_merged);
                if (some && merged(plan, round, line, me, hosts)) total.merged += line.here.count;
            }
        }
        for (const step& line : plan.round(round))
            if (line.what == action::recv || line.what == action::recv_reduce) came.recv(line.here);
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
