// The estimated time of an algorithm, as a function of the vector's bytes.
#pragma once

#include <tutti/cost_model.hpp>

#include "algorithm/catalogue.hpp"
#include "schedule/cost.hpp"

#include <compare>
#include <vector>

namespace tutti {

inline constexpr std::size_t default_slice_bytes = 512 * KiB;

/// Estimates the time of one algorithm for one group. The chooser makes one for each usable row; after that it is immutable. It is the textbook's
/// sum, in which bytes to other hosts take far_byte instead, and rounds with them far_round:
///
///     rounds x round + messages x message + bytes x moved_byte + reduced bytes x reduced_byte
///
/// The rounds are those of the longest chain of messages through the plans of all ranks, or a rank's own within its host if it has more. The rest
/// is that of the busiest rank, or the bytes of all ranks of the busiest host, which share its network card. Where a host has more ranks than cores,
/// its ranks take as long as all their work, divided by the cores, and the part of the chain and the busiest rank's work for which the other cores
/// may have nothing to do (Graham 1966).
///
/// Only a chain through all ranks (algorithm::hops) also takes the time in which the first slice passes the ranks behind the busiest one. In groups
/// of more than `most_counted` ranks only those at both ends, and on the hosts of the first and the last rank, are counted, because they play every
/// special part (root, centre, folded pair, leader). The others are taken to be like them, and the rounds are those of the busiest rank.
class estimate {
public:
    static constexpr int most_counted = 64;  // ranks

    estimate(const algorithm& entry, int size, const cost_model& model, const host_map& hosts = {});

    /// `vector_bytes` is the whole vector: of all_gather what each rank ends with, of reduce_scatter and all_to_all what each rank begins with.
    double seconds(double vector_bytes) const noexcept;

private:
    /// Seconds for a vector of some bytes.
    struct line {
        double fixed = 0, per_byte = 0;
        friend auto operator<=>(const line&, const line&) = default;
    };
    static double slowest(const std::vector<line>& all, double bytes) noexcept;
    void add_host(const cost_model& model, double round, const std::vector<cost>& counted, double ranks);

    double latency_ = 0;       // of all rounds
    double further_hops_ = 0;  // beyond the rounds of a rank, as a part of these
    double alone_ = 0;         // the part of the longest rank's time for which the other cores may have nothing to do
    std::vector<line> ranks_;  // that were counted, without repetitions
    std::vector<line> cores_;  // of hosts that have more ranks than cores
    std::vector<line> cards_;  // of hosts
};

}  // namespace tutti
