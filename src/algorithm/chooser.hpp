// Which algorithm for how many bytes: by the cost of its plans, the same on every rank.
#pragma once

#include "algorithm/catalogue.hpp"

#include <array>
#include <span>
#include <vector>

namespace tutti {

/// What things cost on a group of hosts, in seconds. All ranks must use the same numbers. The defaults reproduce what was measured
/// with TCP on one host of two cores: at 4 ranks recursive doubling to about 48 KiB, halving-doubling to about 600 KiB, then the
/// ring; at 2 ranks one exchange to about 88 KiB, then the ring.
struct cost_model {
    double round = 8e-6;            // a round with transfers: the partner has to notice and answer
    double message = 1e-6;          // a send or recv: a system call
    double sent_byte = 0.27e-9;     // also copied within a rank; sending and receiving at once costs the larger of both
    double reduced_byte = 0.22e-9;  // landed beside its operand, read again and added
    /// Bytes in flight stay in the cache up to a window per link. A rank that feeds several links gets only the busiest one's window
    /// for free; what it spreads over the others beyond one more window goes through cold memory.
    double window_bytes = 256.0 * 1024;
    double cold_byte = 0.5e-9;
};

/// What a plan is estimated to take at its busiest rank, for a whole vector of so many bytes (for all_gather what everybody ends
/// with; for reduce_scatter and all_to_all what everybody begins with).
double estimated_seconds(const algorithm& entry, int size, std::size_t vector_bytes, const cost_model& model);

/// The choice for one group, worked out once; asking is a short search.
class chooser {
public:
    /// `forced` are taken whatever they cost, where they serve the size.
    explicit chooser(int size, const cost_model& model = {}, std::span<const algorithm* const> forced = {});

    /// For a collective that is in the catalogue.
    const algorithm& choose(collective kind, std::size_t vector_bytes) const noexcept;

    struct range {
        std::size_t from_bytes;
        const algorithm* choice;
    };
    /// From 0 bytes on, each up to the next.
    const std::vector<range>& ranges(collective kind) const noexcept { return table_[static_cast<std::size_t>(kind)]; }

private:
    std::array<std::vector<range>, collective_count> table_;  // by collective
};

}  // namespace tutti
