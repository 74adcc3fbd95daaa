#include "schedule/chain.hpp"

#include "base/check.hpp"
#include "schedule/answers.hpp"
#include "schedule/cost.hpp"

#include <algorithm>

namespace tutti {

namespace {

bool receives(const step& one) noexcept { return one.what == action::recv || one.what == action::recv_reduce; }

}  // namespace

/// Rounds of ranks as nodes. Each begins at the end of the round before. It ends when its own work is done and everything that it receives has
/// come.
class chain::graph {
public:
    graph(std::span<const schedule> plans, const chain_prices& prices, const host_map& hosts)
        : plans_(plans),
          prices_(prices),
          hosts_(hosts),
          first_(plans.size() + 1) {
        for (std::size_t me = 0; me < size(); ++me) first_[me + 1] = first_[me] + static_cast<std::size_t>(plans[me].rounds());
        for (std::size_t me = 0; me < size(); ++me)
            links_.push_back(std::max(0, peers(plans[me], static_cast<rank>(me), hosts) - 1) * prices.link);
        sort_sends();
        find_sources();
        sort_nodes();
    }

    /// Returns the line on which the chain for a vector of `bytes` lies. Of two that are equal there the steeper one counts, so that
    /// `find_between` sees the line that goes on.
    line longest(double bytes) const {
        std::vector<line> ends(work_.size());
        const auto begin = [&](std::size_t node) { return opening_[node] ? line{} : ends[node - 1]; };
        const auto keep_later = [bytes](line& one, const line& other) {
            const double first = one.at(bytes), second = other.at(bytes);
            if (first < second || (first == second && one.slope < other.slope)) one = other;
        };
        line last;
        for (const std::size_t node : order_) {
            line end = begin(node) + work_[node];
            for (std::size_t at = source_begin_[node]; at < source_begin_[node + 1]; ++at)
                keep_later(end, begin(sources_[at].node) + sources_[at].until);
            ends[node] = end;
            keep_later(last, end);
        }
        return last;
    }

private:
    /// A message that a rank receives: the sender's round, and how long after the beginning of that round the message has come.
    struct source {
        std::size_t node;
        line until;
    };

    std::size_t size() const noexcept { return plans_.size(); }
    /// The seconds that `who` needs for a message to or from another host, or its own.
    double send(std::size_t who, bool far) const noexcept { return prices_.send + (far ? 0 : links_[who]); }
    double recv(std::size_t who, bool far) const noexcept { return prices_.recv + (far ? 0 : links_[who]); }
    bool far(std::size_t who, const step& one) const noexcept { return hosts_.host(static_cast<rank>(who)) != hosts_.host(one.peer); }
    /// `calls` seconds, and the bytes of the blocks that are moved within a host, moved between hosts, reduced alone and reduced together.
    line price(std::size_t who, double calls, long near, long far, long reduced, long together) const noexcept {
        const shape& cut = plans_[who].spaces();
        const double whole = std::max({1, cut.input, cut.output});
        return {calls, (static_cast<double>(near) * prices_.moved_byte + static_cast<double>(far) * prices_.far_moved_byte +
                        static_cast<double>(reduced) * prices_.reduced_byte + static_cast<double>(together) * prices_.merged_byte) /
                           whole};
    }

    template <class Visit>
    void each_round(Visit visit) const {
        for (std::size_t me = 0; me < size(); ++me)
            for (int round = 0; round < plans_[me].rounds(); ++round)
                visit(me, first_[me] + static_cast<std::size_t>(round), plans_[me].round(round));
    }
    template <class Visit>
    void each_send(Visit visit) const {
        each_round([&](std::size_t me, std::size_t node, std::span<const step> round) {
            line ahead;  // the sends of the round before this one
            for (const step& one : round) {
                if (one.what != action::send) continue;
                visit(me * size() + static_cast<std::size_t>(one.peer), source{node, ahead});
                const long between = far(me, one) ? one.here.count : 0;
                ahead = ahead + price(me, send(me, far(me, one)), one.here.count - between, between, 0, 0);
            }
        });
    }

    /// Sorts the sends by channel (sender, receiver), each channel in the order of its plan: the k-th send meets the k-th recv.
    void sort_sends() {
        send_begin_.resize(size() * size() + 1);
        each_send([&](std::size_t channel, const source&) { ++send_begin_[channel + 1]; });
        for (std::size_t channel = 0; channel < size() * size(); ++channel) send_begin_[channel + 1] += send_begin_[channel];
        sends_.resize(send_begin_.back());
        std::vector<std::size_t> next(send_begin_.begin(), send_begin_.end() - 1);
        each_send([&](std::size_t channel, const source& sent) { sends_[next[channel]++] = sent; });
    }

    void find_sources() {
        std::vector<std::size_t> next(send_begin_.begin(), send_begin_.end() - 1);
        each_round([&](std::size_t me, std::size_t node, std::span<const step> round) {
            const int number = static_cast<int>(node - first_[me]);
            double calls = 0;
            long near = 0, far_sent = 0, far_received = 0, reduced = 0, together = 0;
            double hop = 0;  // the longest
            source_begin_.push_back(sources_.size());
            for (const step& one : round) {
                if (one.what == action::copy) {
                    reduced += one.here.count;
                    continue;
                }
                const long between = far(me, one) ? one.here.count : 0;
                near += one.here.count - between;
                calls += receives(one) ? recv(me, far(me, one)) : send(me, far(me, one));
                if (one.what == action::send) far_sent += between;
                if (!receives(one)) continue;
                const double wait = far(me, one) ? prices_.far_hop : prices_.hop;
                hop = std::max(hop, wait);
                far_received += between;
                const long added = one.what == action::recv_reduce ? one.here.count : 0;
                const bool beside = added > 0 && merged(plans_[me], number, one, static_cast<rank>(me), hosts_);
                (beside ? together : reduced) += added;
                source from = sends_[next[static_cast<std::size_t>(one.peer) * size() + me]++];
                const long alone = beside ? 0 : added;
                const double ends = send(static_cast<std::size_t>(one.peer), far(me, one)) + recv(me, far(me, one));
                from.until = from.until + line{wait, 0} + price(me, ends, one.here.count - between, between, alone, added - alone);
                sources_.push_back(from);
            }
            work_.push_back(price(me, calls, near, std::max(far_sent, far_received), reduced, together) + line{hop, 0});
        });
        source_begin_.push_back(sources_.size());
    }

    /// Puts each node behind those that it waits for. Goes around all ranks, each as far as it comes, until all nodes are placed.
    void sort_nodes() {
        opening_.resize(work_.size());
        for (std::size_t me = 0; me < size(); ++me)
            if (first_[me] < first_[me + 1]) opening_[first_[me]] = true;
        std::vector<bool> done(work_.size());
        const auto may_go = [&](std::size_t node) {
            for (std::size_t at = source_begin_[node]; at < source_begin_[node + 1]; ++at)
                if (const std::size_t other = sources_[at].node; !opening_[other] && !done[other - 1]) return false;
            return true;
        };
        std::vector<std::size_t> at(first_.begin(), first_.end() - 1);
        for (std::size_t before = 0; order_.size() < work_.size(); before = order_.size()) {
            for (std::size_t me = 0; me < size(); ++me)
                for (; at[me] < first_[me + 1] && may_go(at[me]); ++at[me]) {
                    order_.push_back(at[me]);
                    done[at[me]] = true;
                }
            TUTTI_CHECK(order_.size() > before, "a chain is looked for in plans that end");
        }
    }

    std::span<const schedule> plans_;
    const chain_prices prices_;
    const host_map& hosts_;
    std::vector<std::size_t> first_;         // node of each rank's first round
    std::vector<double> links_;              // by rank: added to each of its messages within its host
    std::vector<line> work_;                 // by node
    std::vector<std::size_t> source_begin_;  // by node, into sources_
    std::vector<source> sources_;
    std::vector<std::size_t> send_begin_;  // by channel, into sends_
    std::vector<source> sends_;
    std::vector<bool> opening_;  // by node: the first of its rank
    std::vector<std::size_t> order_;
};

chain::chain(std::span<const schedule> plans, const chain_prices& prices, const host_map& hosts) {
    constexpr double most_bytes = 0x1p50;  // longer than any vector, and its double is exact
    const graph all(plans, prices, hosts);
    const line low = all.longest(0), high = all.longest(most_bytes);
    lines_ = {low, high};
    find_between(all, 0, low, most_bytes, high);
}

/// Finds the lines between two known ones. Where the two cross, the chain lies either on both, or above them on a line that is still unknown.
void chain::find_between(const graph& all, double low, const line& at_low, double high, const line& at_high) {
    constexpr std::size_t most_lines = 32;  // bounds the time: each line is one pass over all rounds
    if (at_high.slope <= at_low.slope || lines_.size() >= most_lines) return;
    const double middle = (at_low.fixed - at_high.fixed) / (at_high.slope - at_low.slope);
    if (!(middle > low) || !(middle < high)) return;
    const line found = all.longest(middle);
    if (found.at(middle) <= at_low.at(middle) * (1 + 1e-12)) return;  // less is rounding
    lines_.push_back(found);
    find_between(all, low, at_low, middle, found);
    find_between(all, middle, found, high, at_high);
}

double chain::seconds(double vector_bytes) const noexcept {
    double most = 0;
    for (const line& each : lines_) most = std::max(most, each.at(vector_bytes));
    return most;
}

}  // namespace tutti
