// The loops on which the lanes of an engine work.
#pragma once

#include "engine/lane_id.hpp"

#include <tutti/event_loop.hpp>

#include <utility>
#include <vector>

namespace tutti {

/// Says on which loop each lane works: on the engine's own, or, where several bulk lanes are spread over threads, on the loop of one of
/// them. Never changes, so any thread may ask.
class lane_loops {
public:
    /// `further`: loops of other threads, which outlive the engine's use of them.
    lane_loops(event_loop& own, std::vector<event_loop*> further, int bulk_lanes) noexcept
        : own_(own),
          further_(std::move(further)),
          spread_(bulk_lanes > 1 && !further_.empty()) {}

    event_loop& own() const noexcept { return own_; }
    const std::vector<event_loop*>& further() const noexcept { return further_; }
    /// Returns whether lanes of this kind are on several loops.
    bool spread(lane_kind kind) const noexcept { return spread_ && kind == lane_kind::bulk; }
    event_loop& of(lane_id which) const noexcept {
        if (!spread(which.kind)) return own_;
        const std::size_t turn = static_cast<std::size_t>(which.index) % (further_.size() + 1);
        return turn == 0 ? own_ : *further_[turn - 1];
    }

private:
    event_loop& own_;
    const std::vector<event_loop*> further_;
    const bool spread_;
};

}  // namespace tutti
