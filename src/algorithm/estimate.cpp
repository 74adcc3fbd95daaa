#include "algorithm/estimate.hpp"

#include <algorithm>

namespace tutti {

estimate::estimate(const algorithm& entry, int size, const cost_model& model, std::size_t slice_bytes, const host_map& hosts)
    : model_(model),
      chained_(size <= most_chained) {
    std::vector<schedule> plans;
    std::vector<rank> counted;
    for (rank me = 0; me < size; ++me) {
        const bool end = me < most_chained / 2 || me >= size - most_chained / 2;
        const bool beside_end = hosts.layered() && (hosts.host(me) == hosts.host(0) || hosts.host(me) == hosts.host(size - 1));
        if (!end && !beside_end) continue;
        counted.push_back(me);
        plans.push_back(entry.build({me, size, 0, &hosts}));
    }
    for (std::size_t at = 0; at < plans.size(); ++at) {
        ranks_.push_back(count(plans[at], counted[at], hosts));
        for (const step& one : plans[at].steps())
            if (one.what != action::copy)
                sliced_share_ =
                    std::max(sliced_share_, one.here.count / (static_cast<double>(ranks_.back().whole) * static_cast<double>(slice_bytes)));
    }
    if (entry.hops)
        for (cost& each : ranks_)
            if (const int hops = std::max(each.exchanges, entry.hops(size)); each.exchanges > 0) {
                each.far_exchanges = each.far_exchanges * hops / each.exchanges;
                each.exchanges = hops;
            }
    if (hosts.count() > 1) count_cards(hosts, counted);
    ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
    if (chained_)
        first_ = chain(plans, {model.round, model.message, model.sent_byte, model.reduced_byte, model.far_round, model.far_byte}, hosts);
}

/// Of the hosts all of whose ranks were counted.
void estimate::count_cards(const host_map& hosts, const std::vector<rank>& counted) {
    std::vector<cost> cards(static_cast<std::size_t>(hosts.count()));
    std::vector<std::size_t> ranks(cards.size());
    for (std::size_t at = 0; at < counted.size(); ++at) {
        const auto host = static_cast<std::size_t>(hosts.host(counted[at]));
        cards[host].far_sent += ranks_[at].far_sent;
        cards[host].far_received += ranks_[at].far_received;
        ++ranks[host];
    }
    for (std::size_t host = 0; host < cards.size(); ++host)
        if (ranks[host] == hosts.ranks(static_cast<int>(host)).size())
            card_share_ = std::max(card_share_, ranks_[0].bytes(std::max(cards[host].far_sent, cards[host].far_received), 1));
}

double estimate::flow_seconds(const cost& of, double bytes) const noexcept {
    return of.messages * model_.message + of.bytes(of.serial - of.far_serial + of.copied, bytes) * model_.sent_byte +
           of.bytes(of.far_serial, bytes) * model_.far_byte + of.bytes(of.reduced, bytes) * model_.reduced_byte;
}

double estimate::first_seconds(double slice_bytes) const noexcept {
    if (chained_) return first_.seconds(slice_bytes);
    double most = 0;
    for (const cost& one : ranks_)
        most = std::max(most, (one.exchanges - one.far_exchanges) * model_.round + one.far_exchanges * model_.far_round +
                                  flow_seconds(one, slice_bytes));
    return most;
}

double estimate::seconds(double vector_bytes) const noexcept {
    const double slices = std::max(1.0, vector_bytes * sliced_share_), slice = vector_bytes / slices;
    double flow = 0, cold = 0;
    for (const cost& one : ranks_) {
        flow = std::max(flow, flow_seconds(one, slice));
        cold = std::max(cold, one.bytes(one.spread, vector_bytes) - model_.window_bytes);
    }
    const double moved = first_seconds(slice) + (slices - 1) * flow;
    if (card_share_ <= 0) return moved + cold * model_.cold_byte;
    return std::max(moved, first_seconds(0) + card_share_ * vector_bytes * model_.far_byte) + cold * model_.cold_byte;
}

}  // namespace tutti
