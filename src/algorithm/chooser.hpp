// Which algorithm for how many bytes: by the cost of its plans, the same on every rank.
#pragma once

#include "algorithm/estimate.hpp"

#include <array>
#include <span>
#include <vector>

namespace tutti {

/// The choice for one group, worked out once; asking is a short search.
class chooser {
public:
    /// `forced` are taken whatever they cost, where they serve the group. The engine leaves `slice_bytes` as it is, whatever its own are, so
    /// that they do not decide in which order sums of fractions are made. `deterministic`: only algorithms of that kind, the forced ones too.
    explicit chooser(int size, const cost_model& model = {}, std::span<const algorithm* const> forced = {},
                     std::size_t slice_bytes = default_slice_bytes, bool deterministic = false, const host_map& hosts = {});

    /// For a collective that is in the catalogue. `ordered`: among those that combine in the order of ranks; forced ones only if they do.
    const algorithm& choose(collective kind, std::size_t vector_bytes, bool ordered = false) const noexcept;

    struct range {
        std::size_t from_bytes;
        const algorithm* choice;
    };
    /// From 0 bytes on, each up to the next.
    const std::vector<range>& ranges(collective kind, bool ordered = false) const noexcept {
        return (ordered ? ordered_ : table_)[static_cast<std::size_t>(kind)];
    }

private:
    std::array<std::vector<range>, collective_count> table_, ordered_;  // by collective
};

}  // namespace tutti
