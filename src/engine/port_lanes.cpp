// Sending over several lanes: which lane gets the port's next frame, and how many frames may be under way.
#include "engine/engine.hpp"

#include <algorithm>

namespace tutti {

/// Windows that each of several lanes may have under way: one slice that the kernel has, and the next that it has not.
constexpr std::size_t windows_of_a_lane = 2;

/// Returns whether no lane is idle.
bool port::full() const noexcept {
    return std::none_of(lanes_.begin(), lanes_.end(), [](const auto& each) { return each->over && !each->outgoing.from; });
}

/// Returns how many frames of an operation may be under way over all lanes.
std::size_t port::window_of(std::size_t bytes, const operation& of) const noexcept {
    const std::size_t of_a_lane = std::min(window_ / std::max<std::size_t>(1, bytes), of.slices());
    return std::max<std::size_t>(1, of_a_lane) * windows_of_a_lane * lanes_.size();
}

/// Returns the idle lane with the fewest bytes under way; equal ones take turns. Null, if that one is full and a busy one will be idle
/// soon: so a slow lane fills its own part of the window only. The bytes under way cost a system call, and are asked for only where the
/// answer counts.
port_lane* port::idle_lane(std::size_t bytes) noexcept {
    const auto idle = static_cast<std::size_t>(
        std::count_if(lanes_.begin(), lanes_.end(), [](const auto& each) { return each->over && !each->outgoing.from; }));
    const bool busy = std::any_of(lanes_.begin(), lanes_.end(), [](const auto& each) { return each->outgoing.from != nullptr; });
    const std::size_t limit = std::max(bytes, window_);
    const bool asks = idle > 1 || (busy && limit < std::numeric_limits<std::size_t>::max());
    port_lane* found = nullptr;
    std::size_t fewest = 0;
    for (std::size_t tried = 0; tried < lanes_.size(); ++tried) {
        port_lane& next = *lanes_[(turn_ + tried) % lanes_.size()];
        if (!next.over || next.outgoing.from) continue;
        const std::size_t there = asks ? next.over->under_way() : 0;
        if (found && there >= fewest) continue;
        found = &next;
        fewest = there;
    }
    // `limit` is one window, half of windows_of_a_lane: the new frame comes on top.
    return found && busy && fewest > limit ? nullptr : found;
}

/// Gives idle lanes the next frames in order, each lane one at a time.
void port::feed_together() noexcept {
    feeding_ = true;
    while (senders_.first && !full()) {
        send_channel& next = *senders_.first;
        const cursor at = next.next_at;
        operation& of = at.of();
        const std::size_t bytes = of.transfer_bytes(at.step(), at.slice());
        if (!of.may_send_among(at.round(), at.slice(), window_of(bytes, of))) break;
        port_lane* const on = idle_lane(bytes);
        if (!on) break;
        turn_ = static_cast<std::size_t>(on->index() + 1) % lanes_.size();
        on->outgoing.from = &next;
        on->outgoing.at = at;
        describe(on->outgoing, next, at, next.next_index++, bytes);
        next.next_at.next();
        if (at.last()) senders_.pop();
        on->over->send(on->outgoing);
        on->over->flush();
    }
    feeding_ = false;
}

}  // namespace tutti
