// The estimated time of an algorithm, as a function of the vector's bytes.
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

/// Returns the number of slices that go through all rounds before the next slices do. Within a host a sum is then sent on while it is in the caches.
/// Between hosts enough bytes are under way to hide the delay of a round.
inline std::size_t default_segment(const host_map& hosts) noexcept { return hosts.count() == 1 ? 1 : 16; }

/// Returns the costs of calls in which the memory of all ranks comes from communicator::allocate, so it is not copied before it is sent.
inline cost_model costs_of_allocated(cost_model costs) noexcept {
    if (costs.allocated > 0) costs.spread_byte = costs.forwarded_byte = 0;
    costs.moved_byte *= 1 - costs.allocated;
    return costs;
}

/// Estimates the time of one algorithm for one group. The chooser makes one for each usable row; after that it is immutable. Five parts add up:
///
/// - The first slice takes the longest chain through the plans of all ranks.
/// - Each further slice adds the time that the busiest rank needs for a slice, without its hops.
/// - Lanes keep segments apart. Where a plan uses a lane again, the next segment waits until the lane is free. Only the other slices of the segment
///   hide the hops of that time.
/// - All ranks of a host share its network card: no call ends before the busiest card has moved its bytes.
/// - They share its cores, too: no call ends before the busiest core has done the work of its ranks. Where all cores have equally many ranks,
///   neighbours share a core, as tutti-run binds them.
///
/// Larger groups than `most_chained` would take too long. There the first slice takes the rounds of the busiest rank, as if it never waited. And only
/// the ranks at both ends and on the hosts of the first and the last rank are counted, since they play every special part (root, centre, folded
/// pair, leader).
class estimate {
public:
    static constexpr int most_chained = 64;  // ranks

    estimate(const algorithm& entry, int size, const cost_model& model, std::size_t slice_bytes = default_slice_bytes,
             const host_map& hosts = {});

    /// `vector_bytes` is the whole vector: of all_gather what each rank ends with, of reduce_scatter and all_to_all what each rank begins with.
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
    std::vector<cost> ranks_;  // of the counted ranks, without repetitions
    bool chained_;
    double segment_;  // slices
    chain first_;
    double sliced_share_ = 0;  // of the vector's bytes: the longest transfer, in slices
    double more_links_ = 0;    // links in use on a host beyond one for each rank, on the host with most
    double card_share_ = 0;    // of the vector's bytes: the part that the busiest host sends to other hosts, or receives
    /// Seconds of a core that several ranks share: once, for each slice, for each byte of the vector, and for each byte beyond spread_from.
    struct work {
        double once = 0, slice = 0, byte = 0, beyond = 0;
        std::map<double, double> messages;  // of a slice: from their length, as a part of the slice, to their number
        work& operator+=(const work& other);
        work& operator*=(double times);
        friend work operator+(work one, const work& other) { return one += other; }
        friend work operator*(work one, double times) { return one *= times; }
        friend auto operator<=>(const work&, const work&) = default;
    };
    work work_of(const cost& of) const;
    void count_cores(const std::vector<work>& ranks, double there);
    double packets_seconds(const work& of, double slice_bytes) const noexcept;
    std::vector<work> crowds_;  // of the hosts that have more ranks than cores, without repetitions
};

}  // namespace tutti
