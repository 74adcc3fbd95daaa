// The lanes of one port.
#pragma once

#include "engine/port_lane.hpp"

#include <deque>
#include <limits>
#include <memory>
#include <string>

namespace tutti {

class engine;

/// Owns the lanes of one kind to one peer. Where there are several, they share the port's frames: the next frame in order goes to an idle
/// lane, so a slow lane takes fewer. Used with the engine's guard held.
class lane_set {
public:
    lane_set(port& owner, lane_kind kind, int lanes);

    /// Returns whether there is only one, which then gets all frames in order.
    bool alone() const noexcept { return alone_; }
    /// Returns the first one, or the only one.
    port_lane& front() noexcept { return all_.front(); }
    port_lane& operator[](int index) noexcept { return all_[static_cast<std::size_t>(index)]; }
    auto begin() noexcept { return all_.begin(); }
    auto end() noexcept { return all_.end(); }
    auto begin() const noexcept { return all_.begin(); }
    auto end() const noexcept { return all_.end(); }

    /// Gives a lane its link.
    port_lane& attach(engine& owner, lane_id which, std::unique_ptr<link> over);
    /// Returns the first link's other end, in words; empty without one.
    std::string route() const;
    bool flushed() const noexcept;
    /// Returns whether nothing comes any more over any lane.
    bool left() const noexcept;

    /// Returns whether no lane is idle.
    bool full() const noexcept;
    /// Returns the idle lane with the fewest bytes under way, for a frame with so many; equal ones take turns. Null, if that lane is full
    /// and a busy one will be idle soon: so a slow lane fills its own part of the window only.
    port_lane* idle(std::size_t bytes) noexcept;
    /// Returns how many frames of an operation, with so many bytes each, may be under way over all lanes.
    std::size_t window_of(std::size_t bytes, const operation& of) const noexcept;

    /// Resumes lanes that keep frames of operations that have begun (`due`), or of those that had not.
    void resume(bool due) noexcept;
    /// Returns whether a lane is just bringing this frame.
    bool brings(const recv_channel& whose, std::uint32_t index) const noexcept;
    /// Returns where a slice to be reduced has landed; null when it was reduced on arrival.
    bounce* bounce_of(const operation& whose, int step, std::size_t slice) noexcept;

private:
    std::deque<port_lane> all_;
    const bool alone_;
    std::size_t window_ = std::numeric_limits<std::size_t>::max();  // the smallest of its lanes
    std::size_t turn_ = 0;                                          // the lane that is offered the next frame first
};

}  // namespace tutti
