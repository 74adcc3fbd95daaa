#include "engine/port.hpp"

#include "engine/engine.hpp"

#include <fmt/format.h>

namespace tutti {

port::port(engine& owner, rank peer, lane_kind kind, int lanes)
    : owner_(owner),
      peer_(peer),
      kind_(kind),
      lanes_(*this, kind, lanes),
      sender_(owner, lanes_),
      receiver_(owner, peer, kind, lanes_) {}

void port::attach(int index, std::unique_ptr<link> over) {
    port_lane& at = lanes_.attach(owner_, {kind_, index}, std::move(over));
    if (owner_.said_goodbye()) say_goodbye(at);
    sender_.feed();
    at.over->resume();
}

void port::lent(port_lane& on, const remote_reference& what) noexcept {
    for (send_channel& each : on.at.of().senders())
        if (each.at.peer() == peer_) each.references.push_back(what);
}

// ---- the end

void port::say_goodbye(port_lane& on) noexcept {
    on.goodbye.head.kind = frame_kind::goodbye;
    on.goodbye.head.epoch = owner_.who().epoch;
    on.over->send(on.goodbye);
    on.over->flush();
}

void port::say_goodbye() noexcept {
    for (port_lane& each : lanes_)
        if (each.over) say_goodbye(each);
}

void port::peer_left(port_lane& on) noexcept {
    on.left = true;
    left_ = lanes_.left();
    if (left_) miss();
}

void port::departed(int index) noexcept {
    port_lane& on = lanes_[index];
    if (!on.over || on.broken) peer_left(on);
}

void port::lost(port_lane& on, std::error_code why) noexcept {
    if (on.left) {  // the peer has said goodbye, so nothing was to come; but a frame of ours may have been on its way
        if (sender_.given() || on.outgoing.from) miss();
        return;
    }
    owner_.lost(peer_, {kind_, on.index()}, why);
}

/// Returns an operation that waits for the peer, or for a frame that an ended lane was given to send; null if there is none.
const operation* port::missed() noexcept {
    if (const operation* const waits = receiver_.waiting()) return waits;
    if (const operation* const waits = sender_.waiting()) return waits;
    for (const port_lane& each : lanes_) {
        if (!each.broken) continue;
        if (const operation* const given = sender_.given()) return given;
        if (each.outgoing.from) return &each.outgoing.at.of();
    }
    return nullptr;
}

void port::miss() noexcept {
    const operation* const of = missed();
    if (!of) return;
    report why;
    why.code = error::peer_left;
    why.cause = fmt::format("rank {} left while rank {} waited for it in {} #{}", peer_, owner_.who().me, of->name(), of->sequence);
    why.peers = {peer_};
    why.root = peer_;
    owner_.fail_locked(std::move(why));
}

void port::stop() noexcept {
    sender_.stop();
    receiver_.stop();
    for (port_lane& each : lanes_) each.stop();
}

void port::close() noexcept {
    for (port_lane& each : lanes_)
        if (each.over) owner_.loops().spread(kind_) ? each.over->close_soon() : each.over->close();
}

void port::part(event_loop& loop) noexcept {
    for (port_lane& each : lanes_)
        if (each.over && &owner_.loops().of({kind_, each.index()}) == &loop) each.over->part();
}

}  // namespace tutti
