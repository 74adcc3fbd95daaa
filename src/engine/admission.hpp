// Limits how much is under way: which operations begin now, and which wait until earlier ones have ended.
#pragma once

#include "engine/lane_id.hpp"
#include "engine/operation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti {

/// Operations begin in the order of their calls, on each kind of lane by itself, while the vectors under way there are shorter than
/// `most_bytes` together. A long vector counts half of that, so its successor begins before it ends. Each rank decides for itself. No
/// deadlock: the first operation that has not ended everywhere has begun wherever it was called. Used by the engine with its guard held.
class admission {
public:
    explicit admission(std::size_t most_bytes) noexcept : most_bytes_(most_bytes) {}

    /// Returns how much an operation counts.
    std::size_t share_of(const operation& one) const noexcept { return std::min(one.vector_bytes, most_bytes_ / 2); }
    /// Returns whether `one` begins now. If not, it is kept.
    bool enter(operation& one) noexcept {
        kind& there = at(one.lanes);
        if (!there.waiting.empty() || there.under_way >= most_bytes_) {
            there.waiting.push(one);
            ++waiting_;
            return false;
        }
        there.under_way += share_of(one);
        return true;
    }
    /// `one` had begun, and has ended.
    void leave(const operation& one) noexcept { at(one.lanes).under_way -= share_of(one); }

    /// Returns whether a kept operation may begin now.
    bool has_next() const noexcept {
        return waiting_ > 0 && std::any_of(kinds_.begin(), kinds_.end(), [this](const kind& each) { return may_begin(each); });
    }
    /// Returns whether the operation at this place, or an earlier one, is kept on such a lane.
    bool keeps(lane_kind lanes, std::uint64_t sequence) const noexcept {
        const operation* const first = at(lanes).waiting.first();
        return first && first->sequence <= sequence;
    }
    /// Takes out the next operation that begins now; null if there is none.
    operation* next() noexcept {
        if (waiting_ == 0) return nullptr;
        for (kind& each : kinds_)
            if (may_begin(each)) {
                each.under_way += share_of(*each.waiting.first());
                return take(each);
            }
        return nullptr;
    }
    /// Returns whether `such` is true of a kept operation.
    template <class Such>
    bool any_waits(Such such) const noexcept {
        for (const kind& each : kinds_)
            for (const operation* waiting = each.waiting.first(); waiting; waiting = operation_list::after(*waiting))
                if (such(*waiting)) return true;
        return false;
    }
    /// Takes out an operation that never begins, since all end now; null when none is left.
    operation* drop() noexcept {
        for (kind& each : kinds_)
            if (!each.waiting.empty()) return take(each);
        return nullptr;
    }

private:
    struct kind {
        operation_list waiting;
        std::size_t under_way = 0;  // shares
    };
    bool may_begin(const kind& each) const noexcept { return !each.waiting.empty() && each.under_way < most_bytes_; }
    operation* take(kind& from) noexcept {
        --waiting_;
        return &from.waiting.pop();
    }
    kind& at(lane_kind lanes) noexcept { return kinds_[static_cast<std::size_t>(lanes)]; }
    const kind& at(lane_kind lanes) const noexcept { return kinds_[static_cast<std::size_t>(lanes)]; }

    const std::size_t most_bytes_;
    std::size_t waiting_ = 0;
    std::array<kind, lane_kinds> kinds_;
};

}  // namespace tutti
