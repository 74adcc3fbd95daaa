// Which operations begin, and which wait until others have ended.
#pragma once

#include "engine/lane_id.hpp"
#include "engine/operation_list.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tutti {

/// Operations begin in the order of their calls, on each kind of lane by itself, while the vectors of those under way there are shorter than
/// `most_bytes` together. Of a long one half of that counts, so that the next begins before it has ended. Each rank decides for itself: the
/// first that has not ended has begun wherever it was called, so nobody waits in a circle.
/// Used with the engine's guard held.
class admission {
public:
    explicit admission(std::size_t most_bytes) noexcept : most_bytes_(most_bytes) {}

    /// `bytes`: of the operation's vector.
    void queue(operation& one, std::size_t bytes) noexcept {
        one.share = std::min(bytes, most_bytes_ / 2);
        at(one.lanes).waiting.push(one);
    }
    /// The next that may begin, which it has then; null if there is none.
    operation* next() noexcept {
        for (kind& each : kinds_)
            if (operation* const first = each.waiting.first; first && each.under_way < most_bytes_) {
                each.waiting.remove(*first);
                each.under_way += first->share;
                return first;
            }
        return nullptr;
    }
    /// It has begun before, and ended.
    void leave(operation& one) noexcept { at(one.lanes).under_way -= std::exchange(one.share, 0); }

    bool empty() const noexcept {
        return std::none_of(kinds_.begin(), kinds_.end(), [](const kind& each) { return each.waiting.first; });
    }
    /// Whether an operation on such a lane that has been called has not begun.
    bool keeps(lane_kind lanes, std::uint64_t sequence) const noexcept {
        const operation* const first = at(lanes).waiting.first;
        return first && first->sequence <= sequence;
    }
    /// Forgets one that waits.
    operation* drop() noexcept {
        for (kind& each : kinds_)
            if (operation* const first = each.waiting.first) {
                each.waiting.remove(*first);
                return first;
            }
        return nullptr;
    }

private:
    struct kind {
        operation_list waiting;
        std::size_t under_way = 0;  // shares
    };
    kind& at(lane_kind lanes) noexcept { return kinds_[static_cast<std::size_t>(lanes)]; }
    const kind& at(lane_kind lanes) const noexcept { return kinds_[static_cast<std::size_t>(lanes)]; }

    const std::size_t most_bytes_;
    std::array<kind, lane_kinds> kinds_;
};

}  // namespace tutti
