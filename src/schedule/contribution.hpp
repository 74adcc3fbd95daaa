// Which steps of a plan read the rank's own contribution in the output, before anything is written over it. In a call out of place these steps
// read the caller's input instead, so the engine need not copy the contribution to the output first.
#pragma once

#include "schedule/schedule.hpp"

#include <vector>

namespace tutti {

/// For plans whose contribution is in the output at the start: all_reduce, reduce, the scans, all_gather, and the own block of reduce_scatter.
/// `engine/program.hpp` makes one for each plan.
class contribution {
public:
    explicit contribution(const schedule& plan);

    /// Returns whether the step reads only blocks of the output that no earlier step has written. Of several recv_reduce into the same blocks
    /// in one round only the first does.
    bool read_by(int step) const noexcept { return read_by_[static_cast<std::size_t>(step)]; }
    /// Returns whether the output's block must have the contribution from the beginning: because no step ever writes the block, or because it
    /// is `mixed`.
    bool stays(int block) const noexcept { return stays_[static_cast<std::size_t>(block)]; }
    bool stays() const noexcept { return any_stays_; }
    /// Returns whether one step reads the untouched block together with blocks that were written, so it cannot read them from the input.
    bool mixed(int block) const noexcept { return mixed_[static_cast<std::size_t>(block)]; }

private:
    bool read(const blocks& what);
    void write(const blocks& what);

    std::vector<bool> read_by_;  // by step
    std::vector<bool> stays_;    // by block of the output
    std::vector<bool> mixed_;    // likewise
    std::vector<bool> written_;  // likewise, up to the step that the constructor looks at
    bool any_stays_ = false;
};

}  // namespace tutti
