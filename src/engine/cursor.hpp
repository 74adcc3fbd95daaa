// Which frame of an operation comes next on the way from or to a peer. Short functions are inline, in operation.hpp.
#pragma once

#include "engine/program.hpp"

#include <cstddef>

namespace tutti {

class operation;

/// Walks the frames of one operation from or to one peer in the order in which they travel: segment, round (a group of the channel), slice,
/// step. Both ends walk the same way, so a frame's number is enough to know its step and slice.
class cursor {
public:
    void begin(operation& of, const program::channel& way) noexcept {
        *this = {};
        of_ = &of;
        way_ = &way;
    }
    bool ended() const noexcept { return group_ == way_->groups.size(); }
    int round() const noexcept { return way_->groups[group_].round; }
    inline int step() const noexcept;
    std::size_t slice() const noexcept { return slice_; }
    bool last() const noexcept;
    /// Moves on by `frames`; returns false when there are fewer.
    bool skip(std::size_t frames) noexcept;
    rank peer() const noexcept { return way_->peer; }
    operation& of() const noexcept { return *of_; }
    inline void next() noexcept;

private:
    inline std::size_t segment_end() const noexcept;
    void end_group() noexcept;

    operation* of_ = nullptr;
    const program::channel* way_ = nullptr;
    std::size_t segment_ = 0;  // its first slice
    std::size_t group_ = 0;    // a round in which there is anything for this peer
    std::size_t slice_ = 0;
    int inside_ = 0;  // which step of the group
};

}  // namespace tutti
