#include "algorithm/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tutti {

namespace {

constexpr double received_message = 1.0 / 3;  // of a send, whose call carries it as far as the receiver's queue
constexpr double packet_bytes = 65'483;       // of a stream, in a packet of the loopback interface
constexpr double header_bytes = 64;           // of a message, in its first packet

std::size_t on_host(int number, int size, const host_map& hosts) {
    return hosts.count() == 1 ? static_cast<std::size_t>(size) : hosts.ranks(number).size();
}

bool share_cores(std::size_t ranks, const cost_model& costs) { return costs.cores > 0 && static_cast<double>(ranks) > costs.cores; }

/// Returns `costs` for the host with most ranks. Rounds and messages take longer where ranks share cores, and `spread_from` becomes the length of one
/// rank's vector.
cost_model on_fullest_host(cost_model costs, int size, const host_map& hosts) {
    std::size_t most = 0;
    for (int number = 0; number < hosts.count(); ++number) most = std::max(most, on_host(number, size, hosts));
    costs.spread_from /= static_cast<double>(std::max<std::size_t>(1, most));
    if (!share_cores(most, costs)) return costs;
    costs.round *= costs.crowded;
    costs.message *= costs.crowded;
    return costs;
}

}  // namespace

estimate::estimate(const algorithm& entry, int size, const cost_model& model, std::size_t slice_bytes, const host_map& hosts)
    : model_(on_fullest_host(model, size, hosts)),
      chained_(size <= most_chained),
      segment_(static_cast<double>(default_segment(hosts))) {
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
            if (is_transfer(one))
                sliced_share_ =
                    std::max(sliced_share_, one.here.count / (static_cast<double>(ranks_.back().whole) * static_cast<double>(slice_bytes)));
    }
    count_links(hosts, counted, size);
    count_hosts(hosts, counted, size);
    if (entry.hops && !chained_) count_hops(entry.hops(size), hosts, size);
    ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
    if (chained_)
        first_ = chain(plans,
                       {model_.round, model_.message, received_message * model_.message, model_.link, model_.moved_byte,
                        model_.reduced_byte, (1 - model_.answered) * model_.reduced_byte, model_.far_round, model_.far_byte},
                       hosts);
}

/// Lets every rank have at least `hops` exchanges, since that many messages wait for each other. Of these as large a part is far as of the steps from
/// one rank to the next.
void estimate::count_hops(int hops, const host_map& hosts, int size) {
    int far = 0;
    for (rank one = 1; one < size; ++one) far += hosts.host(one - 1) != hosts.host(one);
    for (cost& each : ranks_) {
        if (each.exchanges == 0 || each.exchanges >= hops) continue;
        each.exchanges = hops;
        each.far_exchanges = std::max(each.far_exchanges, static_cast<int>(std::lround(static_cast<double>(far) * hops / (size - 1))));
    }
}

estimate::work& estimate::work::operator+=(const work& other) {
    once += other.once;
    slice += other.slice;
    byte += other.byte;
    beyond += other.beyond;
    for (const auto& [length, number] : other.messages) messages[length] += number;
    return *this;
}

estimate::work& estimate::work::operator*=(double times) {
    once *= times;
    slice *= times;
    byte *= times;
    beyond *= times;
    for (auto& [length, number] : messages) number *= times;
    return *this;
}

/// Returns the work with which a rank keeps its core busy.
estimate::work estimate::work_of(const cost& one) const {
    work all{one.exchanges * model_.round,
             message_seconds(one),
             (one.bytes(one.sent + one.received, 1) - one.bytes(one.answered, 1) * model_.answered) * model_.moved_byte +
                 (one.bytes(one.reduced + one.copied, 1) - one.bytes(one.merged, 1) * model_.answered) * model_.reduced_byte,
             beyond_seconds(one, 1),
             {}};
    for (const auto& [blocks, number] : one.lengths) all.messages[one.bytes(blocks, 1)] += number;
    return all;
}

/// Finds the host with most links beyond one for each rank. A rank that was not counted gets the median of its host's counted ranks, because a root,
/// which differs most, is always counted.
void estimate::count_links(const host_map& hosts, const std::vector<rank>& counted, int size) {
    std::vector<std::vector<int>> found(static_cast<std::size_t>(hosts.count()));  // by rank of each host
    for (std::size_t at = 0; at < counted.size(); ++at)
        found[static_cast<std::size_t>(hosts.host(counted[at]))].push_back(ranks_[at].links);
    for (std::size_t number = 0; number < found.size(); ++number) {
        auto& links = found[number];
        if (links.empty()) continue;
        const auto middle = links.begin() + static_cast<long>(links.size() / 2);
        std::nth_element(links.begin(), middle, links.end());
        const auto there = static_cast<double>(on_host(static_cast<int>(number), size, hosts)), seen = static_cast<double>(links.size());
        const double all = std::accumulate(links.begin(), links.end(), 0.0) + (there - seen) * *middle;
        more_links_ = std::max(more_links_, all - there);
    }
}

/// Finds the busiest card among the hosts of which all ranks were counted, and the busy cores of all hosts, on which the ranks that were not counted
/// have the average work of those that were.
void estimate::count_hosts(const host_map& hosts, const std::vector<rank>& counted, int size) {
    struct host {
        cost all;
        std::vector<work> ranks;
    };
    std::vector<host> found(static_cast<std::size_t>(hosts.count()));
    for (std::size_t at = 0; at < counted.size(); ++at) {
        const cost& one = ranks_[at];
        host& of = found[static_cast<std::size_t>(hosts.host(counted[at]))];
        of.all.far_sent += one.far_sent;
        of.all.far_received += one.far_received;
        of.ranks.push_back(work_of(one));
    }
    for (std::size_t number = 0; number < found.size(); ++number) {
        const host& of = found[number];
        if (of.ranks.empty()) continue;
        const auto there = static_cast<double>(on_host(static_cast<int>(number), size, hosts)), seen = static_cast<double>(of.ranks.size());
        if (seen == there) card_share_ = std::max(card_share_, ranks_[0].bytes(std::max(of.all.far_sent, of.all.far_received), 1));
        if (share_cores(on_host(static_cast<int>(number), size, hosts), model_)) count_cores(of.ranks, there);
    }
    std::sort(crowds_.begin(), crowds_.end());
    crowds_.erase(std::unique(crowds_.begin(), crowds_.end()), crowds_.end());
}

/// Adds the busy cores of a host with `there` ranks; `ranks` are those of them that were counted.
void estimate::count_cores(const std::vector<work>& ranks, double there) {
    const auto seen = static_cast<double>(ranks.size()), share = there / model_.cores;
    work mean;
    for (const work& one : ranks) mean += one;
    mean *= 1 / seen;
    if (seen == there && std::floor(share) == share && std::floor(model_.cores) == model_.cores) {
        for (auto first = ranks.begin(); first != ranks.end(); first += static_cast<long>(share)) {
            work core = mean * (share * (1 - model_.uneven));
            for (auto one = first; one != first + static_cast<long>(share); ++one) core += *one * model_.uneven;
            crowds_.push_back(core);
        }
        return;
    }
    // Where ranks do not divide evenly, any ranks may meet on a core: beside each rank share - 1 other ranks, with the average work of the others.
    // The work of such a core beyond an even share of all work is a part of the rank's work beyond the mean.
    const double part = model_.uneven * there * (1 - 1 / model_.cores) / std::max(1.0, there - 1);
    for (const work& one : ranks) crowds_.push_back(mean * (share - part) + one * part);
}

double estimate::message_seconds(const cost& of) const noexcept {
    return (of.sends + received_message * (of.messages - of.sends)) * model_.message;
}

/// Returns the added seconds of bytes beyond spread_from. Answers cost nothing more where they return into memory that was sent.
double estimate::beyond_seconds(const cost& of, double bytes) const noexcept {
    const long sent = of.sent - of.far_sent - (model_.answered > 0 ? of.answered : 0);
    return of.bytes(sent, bytes) * more_links_ * model_.spread_byte + of.bytes(of.forwarded, bytes) * model_.forwarded_byte;
}

/// Returns the seconds that a rank needs for a slice of a vector, without hops; `beyond` is the part of the vector beyond spread_from.
double estimate::flow_seconds(const cost& of, double bytes, double beyond) const noexcept {
    const double moved = of.bytes(of.near(), bytes) - of.bytes(of.answered, bytes) * model_.answered;
    return message_seconds(of) + moved * model_.moved_byte + of.bytes(of.far_serial, bytes) * model_.far_byte +
           (of.bytes(of.reduced + of.copied, bytes) - of.bytes(of.merged, bytes) * model_.answered) * model_.reduced_byte +
           beyond * beyond_seconds(of, bytes);
}

/// Returns what whole packets cost beyond the part of `moved_byte` for packets: a last packet is not full, a single one may cost less.
double estimate::packets_seconds(const work& of, double slice_bytes) const noexcept {
    double packets = 0;
    for (const auto& [length, number] : of.messages) {
        const double bytes = length * slice_bytes;
        packets += number * (std::ceil((header_bytes + bytes) / packet_bytes) - 1 - bytes / packet_bytes);
    }
    return packets * model_.packet;
}

/// Returns the seconds of a slice's hops during which the next segment cannot use the lane.
double estimate::held_seconds(const cost& of) const noexcept {
    return (of.lane_rounds - of.far_lane_rounds) * model_.round + of.far_lane_rounds * model_.far_round;
}

double estimate::first_seconds(double slice_bytes, double beyond) const noexcept {
    if (chained_) return first_.seconds(slice_bytes);
    double most = 0;
    for (const cost& one : ranks_)
        most = std::max(most, (one.exchanges - one.far_exchanges) * model_.round + one.far_exchanges * model_.far_round +
                                  one.linked * model_.link + flow_seconds(one, slice_bytes, beyond));
    return most;
}

double estimate::seconds(double vector_bytes) const noexcept {
    const double slices = std::max(1.0, vector_bytes * sliced_share_), slice = vector_bytes / slices;
    const double beyond = std::max(0.0, vector_bytes - model_.spread_from), part = vector_bytes > 0 ? beyond / vector_bytes : 0;
    double flow = 0, held = 0;
    for (const cost& one : ranks_) {
        flow = std::max(flow, flow_seconds(one, slice, part));
        held = std::max(held, held_seconds(one));
    }
    double moved = first_seconds(slice, part) + (slices - 1) * flow;
    if (slices > segment_) moved += (slices / segment_ - 1) * std::max(0.0, held - (segment_ - 1) * flow);
    if (card_share_ > 0) moved = std::max(moved, first_seconds(0, 0) + card_share_ * vector_bytes * model_.far_byte);
    double longest = moved;
    for (const work& all : crowds_) {
        const double waited = (1 - 1 / model_.cores) * moved;
        longest = std::max(longest, all.once + slices * (all.slice + packets_seconds(all, slice)) + vector_bytes * all.byte +
                                        beyond * all.beyond + waited);
    }
    return longest;
}

}  // namespace tutti
