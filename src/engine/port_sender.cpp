#include "engine/port_sender.hpp"

#include "engine/engine.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

static frame head_of(const cursor& at, std::uint32_t index, std::size_t bytes) noexcept {
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

static void describe(outgoing& made, send_channel& from, const cursor& at, std::uint32_t index, std::size_t bytes) noexcept {
    const operation& of = at.of();
    if (bytes >= prefetched_from) of.memory().prefetch(at.step(), at.slice());
    made.soon_written = of.writes_soon();
    made.summed = of.program().sums_together(at.round());
    made.answer_beyond = of.memory().answer_beyond(at.step());
    made.answer = of.answer_of(at.step(), at.slice());
    made.into.count = 0;
    if (!from.references.empty()) made.into = from.take_reference(index);
    made.head = head_of(at, index, bytes);
}

// ---- over one lane

/// Gives the lane the next frame of the first operation that sends here, one of each channel at a time: `sent` feeds the next. The loop
/// goes on to the next operation only when the lane has the last frame of this one.
void port_sender::feed_alone() noexcept {
    lane* const over = lanes_.front().over.get();
    if (!over) return;
    feeding_ = true;
    while (!queue_.empty() && !queue_.first()->queued) {
        send_channel& next = *queue_.first();
        if (send_now(*over, next)) continue;
        operation& of = next.at.of();
        const std::size_t bytes = of.memory().transfer_bytes(next.at.step(), next.at.slice());
        const std::size_t ahead = std::max<std::size_t>(1, over->window() / std::max<std::size_t>(1, bytes));
        if (!of.may_send(next.at.round(), next.at.slice(), ahead)) break;
        describe(next, next, next.at, next.index, bytes);
        next.queued = true;
        if (next.at.last()) {
            queue_.pop();  // the next operation's frames may follow in the same batch
            given_ = &next;
        }
        over->send(next);
    }
    feeding_ = false;
    over->flush();
}

/// Sends the next frame at once, without queueing it: if no frame waits before it, and its memory lies in one place. Returns
/// whether it has gone. All other frames, and all errors, take the usual way.
bool port_sender::send_now(lane& over, send_channel& next) noexcept {
    const cursor& at = next.at;
    operation& of = at.of();
    const int step = at.step();
    const auto run = of.slices() == 1 && next.references.empty() ? of.memory().run_of(step, 0) : std::nullopt;
    if (!run || !of.may_begin(at.round(), 0)) return false;
    const std::span from(of.memory().read_at(step, run->data()), run->size());
    if (!over.send_now(head_of(at, next.index, from.size()), from)) return false;
    of.transferred(step, from.size());
    next.advance();
    if (at.ended()) queue_.pop();
    if (of.advance()) owner_.progressed(of);
    return true;
}

void port_sender::sent(send_channel& which) noexcept {
    operation& of = which.at.of();
    which.queued = false;
    if (given_ == &which) given_ = nullptr;
    of.transferred(which.at.step(), which.head.payload_bytes);
    which.advance();
    if (of.advance()) owner_.progressed(of);
    else feed();
}

// ---- over several lanes

/// Gives idle lanes the next frames in order, each lane one at a time.
void port_sender::feed_together() noexcept {
    feeding_ = true;
    while (!queue_.empty() && !lanes_.full()) {
        send_channel& next = *queue_.first();
        const cursor at = next.next_at;
        operation& of = at.of();
        const std::size_t bytes = of.memory().transfer_bytes(at.step(), at.slice());
        if (!of.may_send_among(at.round(), at.slice(), lanes_.window_of(bytes, of))) break;
        port_lane* const on = lanes_.idle(bytes);
        if (!on) break;
        on->outgoing.from = &next;
        on->outgoing.at = at;
        describe(on->outgoing, next, at, next.next_index++, bytes);
        next.next_at.next();
        if (at.last()) queue_.pop();
        on->over->send(on->outgoing);
        on->over->flush();
    }
    feeding_ = false;
}

void port_sender::sent(parcel& which) noexcept {
    send_channel& from = *std::exchange(which.from, nullptr);
    operation& of = which.at.of();
    from.count(which.at, which.head.index, which.head.payload_bytes);
    owner_.go_on(of, lanes_.alone());
}

void port_sender::stop() noexcept {
    queue_.clear();
    given_ = nullptr;
}

}  // namespace tutti
