// Which algorithm serves how many bytes best, by the estimated time of its plans. All ranks choose alike, because they have the same costs, hosts
// and tuning, all from rank 0.
#pragma once

#include "algorithm/estimate.hpp"

#include <array>
#include <vector>

namespace tutti {

/// The choice of algorithms for one group. Each engine owns one and asks it with its guard held; only one thread may use a chooser at a time.
/// It works out the ranges of a collective at the first question, because that takes milliseconds with hundreds of ranks and a program calls
/// few collectives. Later questions are a short search. A chooser measures nothing and never changes its answer.
class chooser {
public:
    struct range {
        std::size_t from_bytes;  // of the whole vector, up to the next range
        const algorithm* choice;
    };

    /// `wanted` comes from a tuning: for a vector, the last of its ranges that begins at that length or below is taken whatever it costs, if the
    /// algorithm is usable here. With `deterministic` only algorithms of the deterministic mode are usable, also of `wanted`.
    explicit chooser(int size, const cost_model& model = {}, std::vector<range> wanted = {}, bool deterministic = false,
                     const host_map& hosts = {});

    /// Returns the algorithm for a vector of that length. With `ordered` it chooses only among those that combine in the order of ranks.
    const algorithm& choose(collective kind, std::size_t vector_bytes, bool ordered = false);

    /// Returns all ranges of a collective, in ascending order from 0 bytes on.
    const std::vector<range>& ranges(collective kind, bool ordered = false);

private:
    struct known {
        std::vector<range> any, ordered;  // empty until the first question
    };
    known work_out(collective kind) const;
    bool usable(const algorithm& entry) const noexcept;

    int size_;
    cost_model model_;
    std::vector<range> wanted_;
    bool deterministic_;
    host_map hosts_;
    std::array<known, collective_count> known_;  // by collective
};

}  // namespace tutti
