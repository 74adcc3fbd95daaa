// Which frame of an operation comes next on the way from or to a peer.
#pragma once

#include "engine/program.hpp"

#include <algorithm>
#include <cstddef>

namespace tutti {

class operation;

/// Into how many slices the transfers of an operation are cut, and how many of these go through all rounds before the next ones do.
struct slice_counts {
    std::size_t slices = 1;
    std::size_t segment = 1;
};

/// Walks the frames of one operation from or to one peer in the order in which they travel: segment, round (a group of the channel), slice,
/// step. Both ends walk the same way, so a frame's number is enough to know its step and slice.
class cursor {
public:
    cursor() noexcept = default;
    /// At the first frame. `way` is a channel of `plan`, and `cut` lives as long as the operation.
    cursor(operation& of, const program& plan, const program::channel& way, const slice_counts& cut) noexcept
        : of_(&of),
          way_(&way),
          order_(plan.step_order().data()),
          cut_(&cut) {}

    bool ended() const noexcept { return group_ == way_->groups.size(); }
    int round() const noexcept { return way_->groups[group_].round; }
    int step() const noexcept { return order_[way_->groups[group_].first + inside_]; }
    std::size_t slice() const noexcept { return slice_; }
    /// Returns whether no frame follows.
    bool last() const noexcept;
    /// Moves on by `frames`; returns false when there are fewer.
    bool skip(std::size_t frames) noexcept;
    rank peer() const noexcept { return way_->peer; }
    operation& of() const noexcept { return *of_; }
    void next() noexcept {
        if (++inside_ < way_->groups[group_].count) return;
        inside_ = 0;
        if (++slice_ == segment_end()) end_group();
    }

private:
    std::size_t segment_end() const noexcept { return std::min(cut_->slices - segment_, cut_->segment) + segment_; }
    void end_group() noexcept;

    operation* of_ = nullptr;
    const program::channel* way_ = nullptr;
    const int* order_ = nullptr;  // the plan's steps in the order in which they travel
    const slice_counts* cut_ = nullptr;
    std::size_t segment_ = 0;  // its first slice
    std::size_t group_ = 0;    // a round in which there is anything for this peer
    std::size_t slice_ = 0;
    int inside_ = 0;  // which step of the group
};

}  // namespace tutti
