// How lanes come to an engine and leave it: on its own loop, and, where bulk lanes are spread, on those of other threads.
#include "engine/engine.hpp"

#include "runtime/run_on.hpp"

#include <fmt/format.h>

namespace tutti {

void engine::attach(rank peer, lane_id which, std::unique_ptr<link> over) {
    event_loop& there = loops_.of(which);
    if (&there == &loop_) admit(peer, which, std::move(over));
    else run_on(there, [&] { admit(peer, which, std::move(over)); });
    tell_observer();
}

/// Gives a link to its port, on the lane's loop, while the link's own loop waits.
void engine::admit(rank peer, lane_id which, std::unique_ptr<link> over) {
    const std::lock_guard lock(guard_);
    if (shut_ || failure_) {
        over->close();
        return;
    }
    if (which.kind == lane_kind::point) {
        messages_.attach(peer, std::move(over));
        return;
    }
    port& at = port_to(peer, which.kind);
    if (at.attached(which.index)) return;
    if (&loops_.of(which) != &loop_) over = bring(peer, which, std::move(over));
    if (over) at.attach(which.index, std::move(over));
}

/// Moves a link to its lane's loop. Returns null when it cannot move; then the engine has failed.
std::unique_ptr<link> engine::bring(rank peer, lane_id which, std::unique_ptr<link> over) noexcept {
    if (auto moved = over->move_to(loops_.of(which))) return moved;
    fail_own(error::system,
             fmt::format("rank {} cannot move its lane {} for bulk data, to rank {}, to another thread", who_.me, which.index, peer));
    return nullptr;
}

/// If bulk lanes are spread, ends all lanes of collectives, each on its own loop, and waits for that. Queued frames, like a goodbye, still
/// leave if their links take them at once.
void engine::part() noexcept {
    if (!loops_.spread(lane_kind::bulk)) return;
    {
        const std::lock_guard lock(guard_);
        if (shut_) return;  // then the other loops may be gone
    }
    const auto on = [this](event_loop& loop) {
        const std::lock_guard lock(guard_);
        ports_.each([&](port& each) { each.part(loop); });
    };
    for (event_loop* each : loops_.further()) run_on(*each, [&] { on(*each); });
    on(loop_);
}

void engine::peer_left(rank peer, lane_id which) {
    {
        const std::lock_guard lock(guard_);
        if (which.kind == lane_kind::point) messages_.peer_left(peer);
        else if (port* const at = ports_.find(peer, which.kind)) at->departed(which.index);
    }
    tell_observer();
}

std::string engine::route(rank peer) noexcept {
    if (!made_.here()) return {};
    const std::lock_guard lock(guard_);
    if (peer < 0 || peer >= who_.size || shut_) return {};
    for (const lane_kind kind : {lane_kind::bulk, lane_kind::small}) {
        const port* const at = ports_.find(peer, kind);
        if (std::string there = at ? at->route() : std::string(); !there.empty()) return there;
    }
    return {};
}

}  // namespace tutti
