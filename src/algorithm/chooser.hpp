// Which algorithm for how many bytes: by the cost of its plans, the same on every rank.
#pragma once

#include "algorithm/estimate.hpp"

#include <array>
#include <vector>

namespace tutti {

/// The choice for one group. What it is for a collective is worked out when that is first asked for: with hundreds of ranks it takes
/// milliseconds, and a program calls few of them. Asking again is a short search. One thread at a time.
class chooser {
public:
    struct range {
        std::size_t from_bytes;
        const algorithm* choice;
    };

    /// Of `wanted` the last that begins at so many bytes or before is taken whatever it costs, where it may be. The engine leaves `slice_bytes`
    /// as it is, whatever its own are, so that they do not decide in which order sums of fractions are made. `deterministic`: only algorithms
    /// of that kind, the wanted ones too.
    explicit chooser(int size, const cost_model& model = {}, std::vector<range> wanted = {}, std::size_t slice_bytes = default_slice_bytes,
                     bool deterministic = false, const host_map& hosts = {});

    /// For a collective that is in the catalogue. `ordered`: among those that combine in the order of ranks; wanted ones only if they do.
    const algorithm& choose(collective kind, std::size_t vector_bytes, bool ordered = false);

    /// From 0 bytes on, each up to the next.
    const std::vector<range>& ranges(collective kind, bool ordered = false);

private:
    struct known {
        std::vector<range> any, ordered;  // none until they are asked for
    };
    known work_out(collective kind) const;
    bool usable(const algorithm& entry) const noexcept;

    int size_;
    cost_model model_;
    std::vector<range> wanted_;
    std::size_t slice_bytes_;
    bool deterministic_;
    host_map hosts_;
    std::array<known, collective_count> known_;  // by collective
};

}  // namespace tutti
