// The short way for short frames. If no frame waits before them and their memory lies in one place, they are sent as inline cells without
// being queued, and taken from cells without `arrived`. All other frames, and all errors, take the usual way, so an error is found in one
// place.
#include "engine/engine.hpp"

namespace tutti {

/// Sends the next frame as an inline cell. Returns whether it has gone.
bool port::send_now(lane& over, send_channel& next) noexcept {
    const cursor& at = next.at;
    operation& of = at.of();
    const int step = at.step();
    const auto run = of.slices() == 1 && next.references.empty() ? of.run_of(step, 0) : std::nullopt;
    if (!run || run->size() > cell_payload_bytes || !of.may_begin(at.round(), 0)) return false;
    const std::span from(of.read_at(step, run->data()), run->size());
    if (!over.send_now(head_of(at, next.index, from.size()), from)) return false;
    of.transferred(step, from.size());
    next.advance();
    if (at.ended()) senders_.pop();
    if (of.advance()) owner_.progressed(of);
    return true;
}

/// Takes a frame with its payload, if it is exactly the next one expected here, and may begin. Returns whether it did.
bool port::taken(const frame& head, std::span<const std::byte> payload) noexcept {
    recv_channel* const whose = alone() ? receivers_.first : nullptr;
    if (!whose || head.kind != frame_kind::data || head.epoch != owner_.who().epoch) return false;
    const cursor& at = whose->at;
    operation& of = at.of();
    if (head.sequence != of.sequence || head.index != whose->index || head.slice != at.slice() || head.what != of.what) return false;
    const int step = at.step();
    const auto into = of.run_of(step, at.slice());
    if (!into || into->size() != payload.size() || !of.may_begin(at.round(), at.slice())) return false;
    if (!of.take(step, *into, payload)) return false;
    of.transferred(step, payload.size());
    whose->advance();
    if (at.ended()) receivers_.pop();
    go_on(of);
    return true;
}

}  // namespace tutti
