#include "engine/port_receiver.hpp"

#include "engine/engine.hpp"
#include "engine/meeting.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

void port_receiver::add(recv_channel& next) noexcept {
    next.over = this;
    queue_.push(next);
    for (port_lane& each : lanes_)
        if (each.over) each.over->expect();
}

landing port_receiver::arrived(port_lane& on, const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    if (head.kind == frame_kind::goodbye && head.payload_bytes == 0) return landing::here;
    if (head.kind != frame_kind::data)
        return refuse(error::protocol_error, fmt::format("rank {} sent a frame that does not belong on a data lane", peer_));
    if (head.epoch != owner_.who().epoch)
        return refuse(error::protocol_error,
                      fmt::format("rank {} sent a frame of epoch {}, this is epoch {}", peer_, head.epoch, owner_.who().epoch));
    recv_channel* const whose = receiver_of(head.sequence);
    const auto taken = whose ? expected(on, *whose, head, runs) : without_receiver(head);
    on.parked = taken == landing::park;
    on.due = on.parked && whose;
    if (on.due) parked_ = true;
    if (on.parked && !whose) {
        ahead_ = true;
        owner_.keeps_ahead();
    }
    return taken;
}

/// Returns the channel that a frame belongs to; null without one. Over one lane frames come one operation after the other, so it is the
/// first.
recv_channel* port_receiver::receiver_of(std::uint64_t sequence) noexcept {
    recv_channel* each = queue_.first();
    while (!lanes_.alone() && each && each->at.of().sequence < sequence) each = decltype(queue_)::after(*each);
    return each && each->at.of().sequence == sequence ? each : nullptr;
}

/// Returns whether no lane has brought this frame before.
bool port_receiver::is_new(const recv_channel& whose, std::uint32_t index) const noexcept {
    return !lanes_.brings(whose, index) && std::find(whose.early.begin(), whose.early.end(), index) == whose.early.end();
}

/// Compares a frame with the plan of its operation, before a byte lands:
///
///     another signature                                           mismatch, or the label is asked for
///     not the next index; over several lanes: beyond the end,
///       or a frame that has come already                          protocol error
///     another slice or length                                     protocol error; mismatch where each rank gives its own counts
///     in place, though its step answers nothing                   protocol error
///     its slice has not ended in earlier rounds here              park: back-pressure
///     else                                                        as `land` says
landing port_receiver::expected(port_lane& on, recv_channel& whose, const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    operation& of = whose.at.of();
    if (head.what != of.what) return disagreed(of.what, head);
    on.at = whose.at;
    // Each rank numbers rounds for itself, so the header has none: the index says which transfer this is.
    const bool comes = head.index == whose.index || (!lanes_.alone() && on.at.skip(head.index - whose.index));
    if (!comes || (!lanes_.alone() && !is_new(whose, head.index)))
        return refuse(error::protocol_error, fmt::format("rank {} sent frame {} of {} #{}, the plan of rank {} says frame {}", peer_,
                                                         head.index, of.name(), head.sequence, owner_.who().me, whose.index));
    const std::size_t slice = on.at.slice(), bytes = of.memory().transfer_bytes(on.at.step(), slice);
    if (of.asked.own_counts() && head.slice == slice && head.payload_bytes != bytes) return miscounted(of, head, bytes);
    if (head.slice != slice || head.payload_bytes != bytes)
        return refuse(error::protocol_error,
                      fmt::format("rank {} sent {} bytes as slice {} of {} #{}, the plan of rank {} says {} bytes, slice {}", peer_,
                                  head.payload_bytes, head.slice, of.name(), head.sequence, owner_.who().me, bytes, slice));
    if (head.in_place && !of.program().answers(on.at.step()))
        return refuse(error::protocol_error, fmt::format("rank {} wrote slice {} of {} #{} into memory that was not lent for that", peer_,
                                                         slice, of.name(), head.sequence));
    if (!of.may_begin(on.at.round(), slice)) return landing::park;
    const auto taken = land(on, bytes, runs);
    if (taken == landing::park) return taken;
    on.into = &whose;
    on.frame_index = head.index;
    return taken;
}

/// Decides where a slice lands that may begin:
///
///     part of a sum of several peers, all of it lent              through all of them at once, or park until the last has come (`meet`)
///     recv                                                        in the operation's memory
///     recv_reduce that no step of its round disturbs, near        through: combined where the link shows it
///     any other recv_reduce                                       in a bounce; park if both are full
landing port_receiver::land(port_lane& on, std::size_t bytes, std::vector<std::span<std::byte>>& runs) noexcept {
    operation& of = on.at.of();
    const int step = on.at.step();
    on.filling = nullptr;
    const auto together = lanes_.alone() && of.program().reduces_together(step) ? meet(on) : landing::here;
    if (together == landing::park) return together;
    if (bytes >= prefetched_from && !on.met) of.memory().prefetch(step, on.at.slice());
    if (together == landing::through) return together;
    if (!of.reduces(step)) {
        of.memory().runs_of(step, on.at.slice(), runs);
        return of.memory().past_caches(step) ? landing::past_caches : landing::here;
    }
    // A spread lane combines without the guard, and a user's operator is never called without it.
    if (on.over->near() && of.reduces_at_once(step) && !(owner_.loops().spread(kind_) && of.asked.op.user())) return landing::through;
    bounce* const into = on.free_bounce(bytes);
    if (!into) return landing::park;
    into->of = &of;
    into->step = step;
    into->slice = on.at.slice();
    on.filling = into;
    runs.emplace_back(into->data.get(), bytes);
    return landing::here;
}

void port_receiver::landed(port_lane& on, const frame& head) noexcept {
    recv_channel& whose = *std::exchange(on.into, nullptr);
    operation& of = on.at.of();
    if (!lanes_.alone() && !combined(on)) return;
    const bool together = of.program().reduces_together(on.at.step());
    whose.count(on.at, head.index, head.payload_bytes);
    if (whose.at.ended()) queue_.remove(whose);
    if (together)
        for (recv_channel& each : of.receivers()) each.over->resume();
    owner_.go_on(of, lanes_.alone());
}

bool port_receiver::taken(const frame& head, std::span<const std::byte> payload) noexcept {
    recv_channel* const whose = lanes_.alone() ? queue_.first() : nullptr;
    if (!whose || head.kind != frame_kind::data || head.epoch != owner_.who().epoch) return false;
    const cursor& at = whose->at;
    operation& of = at.of();
    if (head.sequence != of.sequence || head.index != whose->index || head.slice != at.slice() || head.what != of.what) return false;
    const int step = at.step();
    const auto into = of.memory().run_of(step, at.slice());
    if (!into || into->size() != payload.size() || !of.may_begin(at.round(), at.slice())) return false;
    if (!of.take(step, *into, payload)) return false;
    of.transferred(step, payload.size());
    whose->advance();
    if (at.ended()) queue_.pop();
    owner_.go_on(of, lanes_.alone());
    return true;
}

/// Over several lanes, reduces a slice at once if no step of its round forbids that. Otherwise it would keep its bounce until slower lanes
/// have brought all frames before it. Returns false when the user's operator threw.
bool port_receiver::combined(port_lane& on) noexcept {
    operation& of = on.at.of();
    const int step = on.at.step();
    if (!on.filling || !of.program().reduces_at_once(step)) return true;
    if (!on.filling->settled && !of.reduce(step, on.at.slice(), on.filling->data.get())) return false;
    on.filling->of = nullptr;
    return true;
}

// ---- frames that the plan does not contain

/// Decides about a frame whose operation expects nothing here: it is early, or the ranks do not run the same program.
///
///     its operation has begun here with another signature            mismatch
///     one lane, and an earlier operation still waits here            mismatch: the peer has left that one out
///     its operation has not begun                                    park
///     else                                                           protocol error: the plan has no such frame
landing port_receiver::without_receiver(const frame& head) noexcept {
    const operation* const front = waiting();
    const bool begun = owner_.has_begun(kind_, head.sequence);
    const call_signature* const mine = begun ? owner_.recent().find(head.sequence) : nullptr;
    if (mine && *mine != head.what) return disagreed(*mine, head);
    if (lanes_.alone() && front && head.sequence > front->sequence)
        return refuse(error::mismatch,
                      fmt::format("rank {} called {} (operation #{}), for which rank {} sends nothing: it is at {} #{}", owner_.who().me,
                                  front->name(), front->sequence, peer_, to_string(head.what), head.sequence));
    if (!begun) return landing::park;
    return refuse(error::protocol_error, fmt::format("rank {} sent a frame of {} #{} that the plan of rank {} does not contain", peer_,
                                                     to_string(head.what), head.sequence, owner_.who().me));
}

landing port_receiver::disagreed(const call_signature& mine, const frame& head) noexcept {
    owner_.disagreed({peer_, head.sequence, mine, head.what});
    return landing::refuse;
}

/// Each rank gives its own counts, and two of them differ.
landing port_receiver::miscounted(const operation& of, const frame& head, std::size_t bytes) noexcept {
    const std::size_t element = of.asked.element_bytes();
    return refuse(error::mismatch,
                  fmt::format("rank {} expects {} elements from rank {}, which sends {} (operation #{}, {})", owner_.who().me,
                              bytes / element, peer_, head.payload_bytes / element, head.sequence, of.name()));
}

landing port_receiver::refuse(error code, std::string cause) noexcept {
    report why;
    why.code = code;
    why.cause = std::move(cause);
    why.peers = {owner_.who().me, peer_};
    owner_.fail_locked(std::move(why));
    return landing::refuse;
}

}  // namespace tutti
