#include "engine/lane_set.hpp"

#include "engine/engine.hpp"

#include <algorithm>

namespace tutti {

/// Windows that each of several lanes may have under way: one slice that the kernel has, and the next that it has not.
static constexpr std::size_t windows_of_a_lane = 2;

static bool is_idle(const port_lane& one) noexcept { return one.over && !one.outgoing.from; }

lane_set::lane_set(port& owner, lane_kind kind, int lanes) : alone_(lanes_of(kind, lanes) == 1) {
    for (int index = 0; index < lanes_of(kind, lanes); ++index) all_.emplace_back(owner, index);
}

port_lane& lane_set::attach(engine& owner, lane_id which, std::unique_ptr<link> over) {
    port_lane& at = (*this)[which.index];
    if (!alone_) over->share();
    const auto how = owner.loops().spread(which.kind) ? lane::kind::spread : alone_ ? lane::kind::single : lane::kind::shared;
    at.attach(owner.loops().of(which), owner.guard(), std::move(over), how, owner.together());
    window_ = std::min(window_, at.over->window());
    return at;
}

std::string lane_set::route() const {
    for (const port_lane& each : all_)
        if (each.over) return each.over->peer();
    return {};
}

bool lane_set::flushed() const noexcept {
    return std::all_of(begin(), end(), [](const port_lane& each) { return !each.over || each.over->flushed(); });
}

bool lane_set::left() const noexcept {
    return std::all_of(begin(), end(), [](const port_lane& each) { return each.left; });
}

bool lane_set::full() const noexcept { return std::none_of(begin(), end(), is_idle); }

std::size_t lane_set::window_of(std::size_t bytes, const operation& of) const noexcept {
    const std::size_t of_a_lane = std::min(window_ / std::max<std::size_t>(1, bytes), of.slices());
    return std::max<std::size_t>(1, of_a_lane) * windows_of_a_lane * all_.size();
}

/// The bytes under way cost a system call, and are asked for only where the answer counts.
port_lane* lane_set::idle(std::size_t bytes) noexcept {
    const auto several = std::count_if(begin(), end(), is_idle) > 1;
    const bool busy = std::any_of(begin(), end(), [](const port_lane& each) { return each.outgoing.from != nullptr; });
    const std::size_t limit = std::max(bytes, window_);
    const bool asks = several || (busy && limit < std::numeric_limits<std::size_t>::max());
    port_lane* found = nullptr;
    std::size_t fewest = 0;
    for (std::size_t tried = 0; tried < all_.size(); ++tried) {
        port_lane& next = all_[(turn_ + tried) % all_.size()];
        if (!is_idle(next)) continue;
        const std::size_t there = asks ? next.over->under_way() : 0;
        if (found && there >= fewest) continue;
        found = &next;
        fewest = there;
    }
    // `limit` is one window, half of windows_of_a_lane: the new frame comes on top.
    if (!found || (busy && fewest > limit)) return nullptr;
    turn_ = static_cast<std::size_t>(found->index() + 1) % all_.size();
    return found;
}

void lane_set::resume(bool due) noexcept {
    for (port_lane& each : all_) {
        if (!each.parked || each.due != due) continue;
        each.parked = false;
        each.over->resume();
    }
}

bool lane_set::brings(const recv_channel& whose, std::uint32_t index) const noexcept {
    return std::any_of(begin(), end(), [&](const port_lane& each) { return each.into == &whose && each.frame_index == index; });
}

bounce* lane_set::bounce_of(const operation& whose, int step, std::size_t slice) noexcept {
    for (port_lane& each : all_)
        if (bounce* const found = each.bounce_of(whose, step, slice)) return found;
    return nullptr;
}

}  // namespace tutti
