// Which steps of a plan find in the output what the rank itself contributes, as long as nothing has been written over it. Where that is the
// caller's input, it need not be copied to the output first: they read it there.
#pragma once

#include "schedule/schedule.hpp"

#include <vector>

namespace tutti {

/// For plans whose contribution stands in the output, as all_reduce, reduce, the scans and all_gather have it, and reduce_scatter the own part of it.
class contribution {
public:
    explicit contribution(const schedule& plan);

    /// Whether a step reads only blocks of the output that no step before it has written: of several recv_reduce into the same blocks in one
    /// round that is the first.
    bool read_by(int step) const noexcept { return read_by_[static_cast<std::size_t>(step)]; }
    /// Whether the output must have it from the beginning: nothing is ever written there, or a step reads it together with what was written.
    bool stays(int block) const noexcept { return stays_[static_cast<std::size_t>(block)]; }
    bool stays() const noexcept { return any_stays_; }
    /// Whether a step reads it there, together with what was written.
    bool mixed(int block) const noexcept { return mixed_[static_cast<std::size_t>(block)]; }

private:
    bool read(const blocks& what);
    void write(const blocks& what);

    std::vector<bool> read_by_;  // by step
    std::vector<bool> stays_;    // by block of the output
    std::vector<bool> mixed_;    // the same
    std::vector<bool> written_;  // the same, up to the step that is looked at
    bool any_stays_ = false;
};

}  // namespace tutti
