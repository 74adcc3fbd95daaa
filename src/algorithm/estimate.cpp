#include "algorithm/estimate.hpp"

#include "schedule/chain.hpp"

#include <algorithm>

namespace tutti {

namespace {

constexpr double thread_switch = 2e-6;  // seconds, from one rank to another on a core: the system call, and the caches of the other thread

/// Returns whether a rank is counted in a group of any size: it is near the first or the last rank, or on a host of theirs.
bool at_an_end(rank me, int size, const host_map& hosts) {
    if (me < estimate::most_counted / 2 || me >= size - estimate::most_counted / 2) return true;
    return hosts.layered() && (hosts.host(me) == hosts.host(0) || hosts.host(me) == hosts.host(size - 1));
}

bool shares_cores(double ranks, const cost_model& model) { return model.cores > 0 && ranks > model.cores; }

double ranks_on(std::size_t number, int size, const host_map& hosts) {
    return hosts.count() == 1 ? size : static_cast<double>(hosts.ranks(static_cast<int>(number)).size());
}

void keep_unlike(auto& all) {
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
}

}  // namespace

estimate::estimate(const algorithm& entry, int size, const cost_model& model, const host_map& hosts) {
    std::vector<schedule> plans;
    std::vector<std::vector<cost>> found(static_cast<std::size_t>(hosts.count()));  // by host
    latencies take{model.round, model.far_round};
    for (std::size_t number = 0; number < found.size(); ++number)
        if (shares_cores(ranks_on(number, size, hosts), model)) take.near = std::max(model.round, thread_switch);
    int rounds = 0, near_rounds = 0;
    for (rank me = 0; me < size; ++me) {
        if (!at_an_end(me, size, hosts)) continue;
        plans.push_back(entry.build({me, size, 0, &hosts}));
        const cost one = count(plans.back(), me, hosts);
        found[static_cast<std::size_t>(hosts.host(me))].push_back(one);
        rounds = std::max(rounds, one.exchanges);
        near_rounds = std::max(near_rounds, one.exchanges - one.far_exchanges);
        latency_ = std::max(latency_, (one.exchanges - one.far_exchanges) * take.near + one.far_exchanges * take.far);
    }
    const double hops = entry.hops ? entry.hops(size) : rounds;
    if (rounds > 0) further_hops_ = std::max(0.0, hops / rounds - 1);
    latency_ = size <= most_counted ? std::max(chain_seconds(plans, take, hosts), near_rounds * take.near) : latency_ * (1 + further_hops_);
    for (std::size_t number = 0; number < found.size(); ++number)
        if (!found[number].empty()) add_host(model, take.near, found[number], ranks_on(number, size, hosts));
    alone_ = model.cores > 0 ? 1 - 1 / model.cores : 0;
    keep_unlike(ranks_);
    keep_unlike(cores_);
    keep_unlike(cards_);
}

/// Adds a host with `ranks` ranks, of which some were counted.
void estimate::add_host(const cost_model& model, double round, const std::vector<cost>& counted, double ranks) {
    line core;
    double sent = 0, received = 0;  // to and from other hosts
    for (const cost& one : counted) {
        const line near{one.messages * model.message,
                        one.bytes(one.near(), 1) * model.moved_byte + one.bytes(one.reduced + one.copied, 1) * model.reduced_byte};
        ranks_.push_back({near.fixed, near.per_byte + one.bytes(one.far_serial, 1) * model.far_byte});
        core.fixed += near.fixed + (one.exchanges - one.far_exchanges) * round;
        core.per_byte += near.per_byte;
        sent += one.bytes(one.far_sent, 1);
        received += one.bytes(one.far_received, 1);
    }
    const double as_many = ranks / static_cast<double>(counted.size());
    if (sent + received > 0) cards_.push_back({0, std::max(sent, received) * as_many * model.far_byte});
    if (shares_cores(ranks, model)) cores_.push_back({core.fixed * as_many / model.cores, core.per_byte * as_many / model.cores});
}

double estimate::slowest(const std::vector<line>& all, double bytes) noexcept {
    double most = 0;
    for (const line& each : all) most = std::max(most, each.fixed + each.per_byte * bytes);
    return most;
}

double estimate::seconds(double vector_bytes) const noexcept {
    const double first = slowest(ranks_, std::min(vector_bytes, static_cast<double>(default_slice_bytes)));
    const double longest = latency_ + slowest(ranks_, vector_bytes) + further_hops_ * first;
    const double crowded = cores_.empty() ? 0 : slowest(cores_, vector_bytes) + alone_ * longest;
    return std::max({longest, latency_ + slowest(cards_, vector_bytes), crowded});
}

}  // namespace tutti
