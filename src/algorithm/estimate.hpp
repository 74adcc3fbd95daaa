// How long an algorithm is thought to take, as a function of the vector's bytes.
#pragma once

#include <tutti/cost_model.hpp>

#include "algorithm/catalogue.hpp"
#include "schedule/chain.hpp"
#include "schedule/cost.hpp"

#include <compare>
#include <map>
#include <vector>

namespace tutti {

inline constexpr std::size_t default_slice_bytes = 512 * KiB;

/// Slices that go through all rounds before the next ones do. Within a host what was combined is sent on while it is in the caches; between
/// hosts enough is under way to hide the delay of a round.
inline std::size_t default_segment(const host_map& hosts) noexcept { return hosts.count() == 1 ? 1 : 16; }

/// The same where the memory of all ranks comes from communicator::allocate: what is sent is not copied first.
inline cost_model costs_of_allocated(cost_model costs) noexcept {
    if (costs.allocated > 0) costs.spread_byte = costs.forwarded_byte = 0;
    costs.moved_byte *= 1 - costs.allocated;
    return costs;
}

/// The first slice goes along the longest chain through the plans of all ranks; the others follow it, each as long as the busiest rank
/// needs for a slice without its hops. Lanes keep segments apart: where a plan comes back to a lane, the next segment waits until it is free,
/// and what hops take meanwhile is hidden by the other slices of the segment only. In groups of more than `most_chained` ranks the chain is that of the busiest rank's rounds, as if
/// it never waited, and ranks are counted at both ends only, and on the hosts of the first and the last one: every special part (root,
/// centre, folded pair, leader) is played there. All ranks of a host share its
/// card and its cores: nothing ends before the busiest card has moved its bytes, and the busiest core has done its ranks' work. Where each core
/// has as many ranks as any other, these are taken to be neighbours, as tutti-run has them.
class estimate {
public:
    static constexpr int most_chained = 64;

    estimate(const algorithm& entry, int size, const cost_model& model, std::size_t slice_bytes = default_slice_bytes,
             const host_map& hosts = {});

    /// For the whole vector: for all_gather what everybody ends with, for reduce_scatter and all_to_all what everybody begins with.
    double seconds(double vector_bytes) const noexcept;

private:
    double first_seconds(double slice_bytes, double beyond) const noexcept;
    double message_seconds(const cost& of) const noexcept;
    double beyond_seconds(const cost& of, double bytes) const noexcept;
    double flow_seconds(const cost& of, double bytes, double beyond) const noexcept;
    double held_seconds(const cost& of) const noexcept;
    void count_hops(int hops, const host_map& hosts, int size);
    void count_links(const host_map& hosts, const std::vector<rank>& counted, int size);
    void count_hosts(const host_map& hosts, const std::vector<rank>& counted, int size);

    cost_model model_;
    std::vector<cost> ranks_;  // that differ
    bool chained_;
    double segment_;  // slices
    chain first_;
    double sliced_share_ = 0;  // of the vector's bytes: the longest transfer, in slices
    double more_links_ = 0;    // that are in use on a host than it has ranks
    double card_share_ = 0;    // of the vector's bytes: what the busiest host sends to others, or receives
    /// What a core does that ranks share: once, for each slice, for each byte of the vector, and for each beyond spread_from.
    struct work {
        double once = 0, slice = 0, byte = 0, beyond = 0;
        std::map<double, double> messages;  // of a slice: how many are so long, in parts of it
        work& operator+=(const work& other);
        work& operator*=(double times);
        friend work operator+(work one, const work& other) { return one += other; }
        friend work operator*(work one, double times) { return one *= times; }
        friend auto operator<=>(const work&, const work&) = default;
    };
    work work_of(const cost& of) const;
    void count_cores(const std::vector<work>& ranks, double there);
    double packets_seconds(const work& of, double slice_bytes) const noexcept;
    std::vector<work> crowds_;  // of the hosts that have more ranks than cores; those that differ
};

}  // namespace tutti
