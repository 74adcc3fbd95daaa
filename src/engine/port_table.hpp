// The ports of an engine.
#pragma once

#include "engine/port.hpp"

#include <memory>
#include <vector>

namespace tutti {

/// Holds an engine's ports, one for each peer and kind of lane that has been used. Used with the engine's guard held.
class port_table {
public:
    explicit port_table(int size) : all_(static_cast<std::size_t>(size) * lane_kinds) {}

    /// Returns a port; null until it is used.
    port* find(rank peer, lane_kind kind) const noexcept { return all_[place_of(peer, kind)].get(); }
    port& add(engine& owner, rank peer, lane_kind kind, int lanes) {
        auto& made = all_[place_of(peer, kind)];
        made = std::make_unique<port>(owner, peer, kind, lanes);
        return *made;
    }
    template <class Visit>
    void each(Visit visit) const {
        for (const auto& one : all_)
            if (one) visit(*one);
    }
    /// Destroys the ports: futures and persistent calls may keep the engine for longer than the loop lives.
    void clear() noexcept {
        for (auto& one : all_) one.reset();
    }

private:
    static std::size_t place_of(rank peer, lane_kind kind) noexcept {
        return static_cast<std::size_t>(peer) * lane_kinds + static_cast<std::size_t>(kind);
    }

    std::vector<std::unique_ptr<port>> all_;
};

}  // namespace tutti
