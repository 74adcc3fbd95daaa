#include "engine/port.hpp"

#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tutti {

template <class Channel>
void port::queue<Channel>::push(Channel& one) noexcept {
    one.next = nullptr;
    (first ? last->next : first) = &one;
    last = &one;
}

template <class Channel>
void port::queue<Channel>::remove(Channel& one) noexcept {
    if (first == &one) {
        pop();
        return;
    }
    Channel* before = first;
    while (before->next != &one) before = before->next;
    before->next = one.next;
    if (last == &one) last = before;
}

port::port(engine& owner, rank peer, lane_kind kind, int lanes) : owner_(owner), peer_(peer), kind_(kind) {
    for (int index = 0; index < lanes_of(kind, lanes); ++index) lanes_.push_back(std::make_unique<port_lane>(*this, index));
}

std::string port::route() const {
    for (const auto& each : lanes_)
        if (each->over) return each->over->peer();
    return {};
}

bool port::busy() const noexcept {
    if (awaited()) return true;
    for (const auto& each : lanes_)
        if (each->over && !each->over->flushed()) return true;
    return false;
}

bool port::spread() const noexcept { return owner_.loops().spread(kind_); }

void port::attach(int index, std::unique_ptr<link> over) {
    port_lane& at = *lanes_[static_cast<std::size_t>(index)];
    if (!alone()) over->share();
    const auto how = spread() ? lane::kind::spread : alone() ? lane::kind::single : lane::kind::shared;
    at.attach(owner_.loops().of({kind_, index}), owner_.guard(), std::move(over), how, owner_.together());
    window_ = std::min(window_, at.over->window());
    if (owner_.said_goodbye()) say_goodbye(at);
    feed();
    at.over->resume();
}

void port::add(send_channel& next) noexcept {
    next.over = this;
    senders_.push(next);
}

void port::add(recv_channel& next) noexcept {
    next.over = this;
    receivers_.push(next);
    for (auto& each : lanes_)
        if (each->over) each->over->expect();
}

// ---- sending: one operation after the other, each slice as soon as it may leave

/// Counts a channel's frame as transferred. Over several lanes frames end in any order, but count in their own: early ones wait in a heap.
template <class Channel>
void port::count(Channel& channel, const cursor& done, const frame& head) noexcept {
    operation& of = channel.at.of();
    if (head.index != channel.index) {
        of.transferred_early(done.step());
        channel.early.push_back(head.index);
        std::push_heap(channel.early.begin(), channel.early.end(), std::greater());
        return;
    }
    of.transferred(done.step(), head.payload_bytes);
    channel.advance();
    while (!channel.early.empty() && channel.early.front() == channel.index) {
        std::pop_heap(channel.early.begin(), channel.early.end(), std::greater());
        channel.early.pop_back();
        of.count_early(channel.at.step(), channel.at.slice());
        channel.advance();
    }
}

/// Shorter payloads are in the caches, or soon there.
constexpr std::size_t prefetched_from = 256 * KiB;

frame port::head_of(const cursor& at, std::uint32_t index, std::size_t bytes) noexcept {
    const operation& of = at.of();
    frame head;
    head.kind = frame_kind::data;
    head.epoch = of.epoch;
    head.sequence = of.sequence;
    head.index = index;
    head.slice = static_cast<std::uint32_t>(at.slice());
    head.payload_bytes = bytes;
    head.what = of.what;
    return head;
}

void port::describe(outgoing& made, send_channel& from, const cursor& at, std::uint32_t index, std::size_t bytes) noexcept {
    const operation& of = at.of();
    if (bytes >= prefetched_from) of.prefetch(at.step(), at.slice());
    made.soon_written = of.writes_soon();
    made.summed = of.plan().sums_together(at.round());
    made.answer_beyond = of.answer_beyond(at.step());
    made.answer = of.answer_of(at.step(), at.slice());
    made.into.count = 0;
    if (!from.references.empty()) made.into = from.take_reference(index);
    made.head = head_of(at, index, bytes);
}

void port::feed() noexcept {
    if (feeding_) return;  // called from `sent`, inside of the loop below, which looks again
    if (alone()) feed_alone();
    else feed_together();
}

/// Gives the lane the next frame of the first operation that sends here, one of each channel at a time: `sent` feeds the next. The loop
/// goes on to the next operation only when the lane has the last frame of this one.
void port::feed_alone() noexcept {
    lane* const over = lanes_.front()->over.get();
    if (!over) return;
    feeding_ = true;
    while (senders_.first && !senders_.first->queued) {
        send_channel& next = *senders_.first;
        if (send_now(*over, next)) continue;
        operation& of = next.at.of();
        const std::size_t bytes = of.transfer_bytes(next.at.step(), next.at.slice());
        const std::size_t ahead = std::max<std::size_t>(1, over->window() / std::max<std::size_t>(1, bytes));
        if (!of.may_send(next.at.round(), next.at.slice(), ahead)) break;
        describe(next, next, next.at, next.index, bytes);
        next.queued = true;
        if (next.at.last()) {
            senders_.pop();  // the next operation's frames may follow in the same batch
            given_ = &next;
        }
        over->send(next);
    }
    feeding_ = false;
    over->flush();
}

void port::sent(send_channel& which) noexcept {
    operation& of = which.at.of();
    which.queued = false;
    if (given_ == &which) given_ = nullptr;
    of.transferred(which.at.step(), which.head.payload_bytes);
    which.advance();
    if (of.advance()) owner_.progressed(of);
    else feed();
}

void port::sent(parcel& which) noexcept {
    send_channel& from = *std::exchange(which.from, nullptr);
    operation& of = which.at.of();
    count(from, which.at, which.head);
    go_on(of);
}

/// Moves an operation on after a frame has counted. Over several lanes a frame that ended early counts for nothing yet, but makes room in
/// the window.
void port::go_on(operation& of) noexcept {
    if (of.advance()) {
        owner_.progressed(of);
        return;
    }
    if (alone()) return;
    for (send_channel& each : of.senders()) each.over->feed();
}

// ---- receiving

void port::resume() noexcept {
    if (std::exchange(parked_, false)) resume_if(true);
}

void port::resume_ahead() noexcept {
    if (std::exchange(ahead_, false)) resume_if(false);
}

/// Resumes lanes that keep frames of operations that have begun (`due`), or of those that had not.
void port::resume_if(bool due) noexcept {
    for (auto& each : lanes_) {
        if (!each->parked || each->due != due) continue;
        each->parked = false;
        each->over->resume();
    }
}

/// Answers a lane that asks where a frame shall land: see `expected`, `without_receiver` and `land` for the branches.
landing port::arrived(port_lane& on, const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
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
    else if (on.parked) {
        ahead_ = true;
        owner_.keeps_ahead();
    }
    return taken;
}

/// Returns the channel that a frame belongs to; null without one. Over one lane frames come one operation after the other, so it is the
/// first.
recv_channel* port::receiver_of(std::uint64_t sequence) noexcept {
    recv_channel* each = receivers_.first;
    while (!alone() && each && each->at.of().sequence < sequence) each = each->next;
    return each && each->at.of().sequence == sequence ? each : nullptr;
}

/// Returns whether no lane has brought this frame before.
bool port::is_new(const recv_channel& whose, std::uint32_t index) const noexcept {
    for (const auto& each : lanes_)
        if (each->into == &whose && each->frame_index == index) return false;
    return std::find(whose.early.begin(), whose.early.end(), index) == whose.early.end();
}

/// Compares a frame with the plan of its operation, before a byte lands:
///
///     another descriptor                                          mismatch, or the label is asked for
///     not the next index; over several lanes: beyond the end,
///       or a frame that has come already                          protocol error
///     another slice or length                                     protocol error; mismatch where each rank gives its own counts
///     in place, though its step answers nothing                   protocol error
///     its slice has not ended in earlier rounds here              park: back-pressure
///     else                                                        as `land` says
landing port::expected(port_lane& on, recv_channel& whose, const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    operation& of = whose.at.of();
    if (head.what != of.what) return disagreed(of.what, head);
    on.at = whose.at;
    // Each rank numbers rounds for itself, so the header has none: the index says which transfer this is.
    const bool comes = head.index == whose.index || (!alone() && on.at.skip(head.index - whose.index));
    if (!comes || (!alone() && !is_new(whose, head.index)))
        return refuse(error::protocol_error, fmt::format("rank {} sent frame {} of {} #{}, the plan of rank {} says frame {}", peer_,
                                                         head.index, of.name(), head.sequence, owner_.who().me, whose.index));
    const std::size_t slice = on.at.slice(), bytes = of.transfer_bytes(on.at.step(), slice);
    if (of.asked.own_counts() && head.slice == slice && head.payload_bytes != bytes) return miscounted(of, head, bytes);
    if (head.slice != slice || head.payload_bytes != bytes)
        return refuse(error::protocol_error,
                      fmt::format("rank {} sent {} bytes as slice {} of {} #{}, the plan of rank {} says {} bytes, slice {}", peer_,
                                  head.payload_bytes, head.slice, of.name(), head.sequence, owner_.who().me, bytes, slice));
    if (head.in_place && !of.plan().answers(on.at.step()))
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
landing port::land(port_lane& on, std::size_t bytes, std::vector<std::span<std::byte>>& runs) noexcept {
    operation& of = on.at.of();
    const int step = on.at.step();
    on.filling = nullptr;
    const auto together = alone() && of.plan().reduces_together(step) ? meet(on) : landing::here;
    if (together == landing::park) return together;
    if (bytes >= prefetched_from && !on.met) of.prefetch(step, on.at.slice());
    if (together == landing::through) return together;
    if (!of.reduces(step)) {
        of.runs_of(step, on.at.slice(), runs);
        return of.past_caches(step) ? landing::past_caches : landing::here;
    }
    // A spread lane combines without the guard, and a user's operator is never called without it.
    if (on.over->near() && of.reduces_at_once(step) && !(spread() && of.asked.op.user())) return landing::through;
    bounce* const into = on.free_bounce(bytes);
    if (!into) return landing::park;
    into->of = &of;
    into->step = step;
    into->slice = on.at.slice();
    on.filling = into;
    runs.emplace_back(into->data.get(), bytes);
    return landing::here;
}

void port::landed(port_lane& on, const frame& head) noexcept {
    if (head.kind == frame_kind::goodbye) {
        peer_left(on);
        return;
    }
    recv_channel& whose = *std::exchange(on.into, nullptr);
    operation& of = on.at.of();
    if (!alone() && !combined(on)) return;
    const bool together = of.plan().reduces_together(on.at.step());
    count(whose, on.at, head);
    if (whose.at.ended()) receivers_.remove(whose);
    if (together)
        for (recv_channel& each : of.receivers()) each.over->resume();
    go_on(of);
}

void port::lent(port_lane& on, const remote_reference& what) noexcept {
    for (send_channel& each : on.at.of().senders())
        if (each.at.peer() == peer_) each.references.push_back(what);
}

/// Over several lanes, reduces a slice at once if no step of its round forbids that. Otherwise it would keep its bounce until slower lanes
/// have brought all frames before it. Returns false when the user's operator threw.
bool port::combined(port_lane& on) noexcept {
    operation& of = on.at.of();
    const int step = on.at.step();
    if (!on.filling || !of.plan().reduces_at_once(step)) return true;
    if (!on.filling->settled && !of.reduce(step, on.at.slice(), on.filling->data.get())) return false;
    on.filling->of = nullptr;
    return true;
}

void port::peer_left(port_lane& on) noexcept {
    on.left = true;
    left_ = std::all_of(lanes_.begin(), lanes_.end(), [](const auto& each) { return each->left; });
    if (left_) miss();
}

void port::departed(int index) noexcept {
    port_lane& on = *lanes_[static_cast<std::size_t>(index)];
    if (!on.over || on.lost_link) peer_left(on);
}

bounce* port::bounce_of(const operation& whose, int step, std::size_t slice) noexcept {
    for (auto& each : lanes_)
        if (bounce* const found = each->bounce_of(whose, step, slice)) return found;
    return nullptr;
}

// ---- the end

void port::say_goodbye(port_lane& on) noexcept {
    on.goodbye.head.kind = frame_kind::goodbye;
    on.goodbye.head.epoch = owner_.who().epoch;
    on.over->send(on.goodbye);
    on.over->flush();
}

void port::say_goodbye() noexcept {
    for (auto& each : lanes_)
        if (each->over) say_goodbye(*each);
}

void port::stop() noexcept {
    senders_ = {};
    receivers_ = {};
    given_ = nullptr;
    for (auto& each : lanes_) each->stop();
}

void port::close() noexcept {
    for (auto& each : lanes_)
        if (each->over) spread() ? each->over->close_soon() : each->over->close();
}

void port::part(event_loop& loop) noexcept {
    for (auto& each : lanes_)
        if (each->over && &owner_.loops().of({kind_, each->index()}) == &loop) each->over->part();
}

}  // namespace tutti
