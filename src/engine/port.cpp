#include "engine/port.hpp"

#include "engine/engine.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <cstring>

namespace tutti {

template <class Channel>
void port::queue<Channel>::push(Channel& one) noexcept {
    one.next = nullptr;
    (first ? last->next : first) = &one;
    last = &one;
}

void port::attach(std::unique_ptr<lane> over) {
    lane_ = std::move(over);
    feed();
    lane_->resume();
}

void port::add(send_channel& next) noexcept {
    next.over = this;
    senders_.push(next);
}

void port::add(recv_channel& next) noexcept {
    next.over = this;
    receivers_.push(next);
    if (lane_) lane_->expect();
}

// ---- sending: one operation after the other, each slice as soon as it may leave

void port::feed() noexcept {
    if (!lane_) return;
    while (senders_.first && !senders_.first->queued) {
        send_channel& next = *senders_.first;
        operation& of = next.at.of();
        const std::size_t bytes = of.transfer_bytes(next.at.step(), next.at.slice());
        const std::size_t ahead = std::max<std::size_t>(1, lane_->window() / std::max<std::size_t>(1, bytes));
        if (!of.may_send(next.at.round(), next.at.slice(), ahead)) break;
        next.head.kind = frame_kind::data;
        next.head.epoch = of.epoch;
        next.head.sequence = of.sequence;
        next.head.round = static_cast<std::uint32_t>(next.at.round());
        next.head.slice = static_cast<std::uint32_t>(next.at.slice());
        next.head.payload_bytes = bytes;
        next.head.what = of.what;
        next.queued = true;
        if (next.at.last()) senders_.pop();  // the next operation's frames may follow in the same batch
        lane_->send(next);
    }
    lane_->flush();
}

void port::sent(send_channel& which) noexcept {
    operation& of = which.at.of();
    which.queued = false;
    of.transferred(which.at.step(), which.head.payload_bytes);
    which.at.next();
    if (of.advance()) owner_.progressed(of);
    else feed();
}

// ---- receiving

void port::resume() noexcept {
    if (!lane_ || !parked_) return;
    parked_ = false;
    lane_->resume();
}

landing port::arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    if (head.kind == frame_kind::goodbye && head.payload_bytes == 0) return landing::here;
    if (head.kind != frame_kind::data) return refuse(error::protocol_error, fmt::format("rank {} sent a frame that does not belong on a data lane", peer_));
    if (head.epoch != owner_.who_.epoch)
        return refuse(error::protocol_error, fmt::format("rank {} sent a frame of epoch {}, this is epoch {}", peer_, head.epoch, owner_.who_.epoch));
    recv_channel* front = receivers_.first;
    const auto taken = front && front->at.of().sequence == head.sequence ? expected(head, *front, runs) : unexpected(head);
    parked_ = taken == landing::park;
    return taken;
}

landing port::expected(const frame& head, recv_channel& front, std::vector<std::span<std::byte>>& runs) noexcept {
    operation& of = front.at.of();
    if (head.what != of.what) return disagreed(of.what, head);
    const int step = front.at.step();
    const std::size_t slice = front.at.slice(), bytes = of.transfer_bytes(step, slice);
    if (of.asked.kind == collective::all_to_all_v && head.slice == slice && head.payload_bytes != bytes) return miscounted(of, head, bytes);
    // Rounds are numbered by each rank for itself; the order on the lane says which transfer this is.
    if (head.slice != slice || head.payload_bytes != bytes)
        return refuse(error::protocol_error, fmt::format("rank {} sent {} bytes as slice {} of {} #{}, the plan of rank {} says {} bytes, slice {}", peer_,
                                                         head.payload_bytes, head.slice, of.name(), head.sequence, owner_.who_.me, bytes, slice));
    if (!of.may_begin(front.at.round(), slice)) return landing::park;
    if (!of.reduces(step)) {
        of.runs_of(step, slice, runs);
        return landing::here;
    }
    if (near() && of.reduces_at_once(step)) return landing::through;
    bounce* into = free_bounce(bytes);
    if (!into) return landing::park;
    into->of = &of;
    into->step = step;
    into->slice = slice;
    runs.emplace_back(into->data.get(), bytes);
    return landing::here;
}

/// A frame of an operation that expects nothing here: it is early, or the ranks do not run the same program.
landing port::unexpected(const frame& head) noexcept {
    recv_channel* front = receivers_.first;
    const auto& recent = owner_.recent_;
    const bool started = head.sequence <= owner_.started_;
    if (started && owner_.started_ - head.sequence < recent.size()) {
        const descriptor& mine = recent[head.sequence % recent.size()];
        if (mine != head.what) return disagreed(mine, head);
    }
    if (front && head.sequence > front->at.of().sequence)
        return refuse(error::mismatch, fmt::format("rank {} called {} (operation #{}), for which rank {} sends nothing: it is at {} #{}", owner_.who_.me,
                                                   front->at.of().name(), front->at.of().sequence, peer_, to_string(head.what), head.sequence));
    if (!started) return landing::park;
    return refuse(error::protocol_error, fmt::format("rank {} sent a frame of {} #{} that the plan of rank {} does not contain", peer_, to_string(head.what),
                                                     head.sequence, owner_.who_.me));
}

landing port::disagreed(const descriptor& mine, const frame& head) noexcept {
    const auto names = tell_apart(mine, head.what);
    return refuse(error::mismatch, fmt::format("rank {} called {} where rank {} called {} (operation #{})", owner_.who_.me, names.mine, peer_, names.theirs,
                                               head.sequence));
}

/// Each rank gives its own counts: what one says it sends must be what the other says it receives.
landing port::miscounted(const operation& of, const frame& head, std::size_t bytes) noexcept {
    const std::size_t element = of.asked.element_bytes();
    return refuse(error::mismatch,
                  fmt::format("rank {} expects {} elements from rank {}, which sends {} (operation #{}, {})", owner_.who_.me,
                              bytes / element, peer_, head.payload_bytes / element, head.sequence, of.name()));
}

landing port::refuse(error code, std::string cause) noexcept {
    report why;
    why.code = code;
    why.cause = std::move(cause);
    why.peers = {owner_.who_.me, peer_};
    owner_.fail_locked(std::move(why), true);
    return landing::refuse;
}

std::size_t port::through(const frame&, std::uint64_t offset, std::span<const std::byte> part) noexcept {
    const cursor& at = receivers_.first->at;
    const std::size_t element = at.of().asked.element_bytes();
    if (reinterpret_cast<std::uintptr_t>(part.data()) % element == 0) return at.of().reduce(at.step(), at.slice(), offset, part);
    // Behind data of smaller elements; the next long transfer is aligned again.
    alignas(64) std::byte aligned[4 * KiB];
    part = part.first(std::min(part.size(), sizeof aligned));
    std::memcpy(aligned, part.data(), part.size());
    return at.of().reduce(at.step(), at.slice(), offset, {aligned, part.size()});
}

void port::landed(const frame& head) noexcept {
    if (head.kind == frame_kind::goodbye) {
        peer_left();
        return;
    }
    recv_channel& front = *receivers_.first;
    operation& of = front.at.of();
    const int step = front.at.step();
    if (front.at.last()) receivers_.pop();
    front.at.next();
    of.transferred(step, head.payload_bytes);
    if (of.advance()) owner_.progressed(of);
}

void port::peer_left() noexcept {
    left_ = true;
    if (!awaited()) return;
    const operation& of = receivers_.first ? receivers_.first->at.of() : senders_.first->at.of();
    report why;
    why.code = error::peer_left;
    why.cause = fmt::format("rank {} left while rank {} waited for it in {} #{}", peer_, owner_.who_.me, of.name(), of.sequence);
    why.peers = {peer_};
    why.root = peer_;
    owner_.fail_locked(std::move(why), true);
}

void port::lost(std::error_code why) noexcept {
    if (left_ && !awaited()) return;
    owner_.lost_.push_back({peer_, why});
    owner_.post_news();
}

bounce* port::free_bounce(std::size_t bytes) {
    for (bounce& each : bounces_) {
        if (each.of) continue;
        if (each.capacity < bytes) {
            each.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
            each.capacity = bytes;
        }
        return &each;
    }
    return nullptr;
}

std::byte* port::landed_in(const operation& whose, int step, std::size_t slice) noexcept {
    for (bounce& each : bounces_)
        if (each.holds(whose, step, slice)) return each.data.get();
    TUTTI_CHECK(false, "a slice to be reduced has landed nowhere");
    return nullptr;
}

void port::release(const operation& whose, int step, std::size_t slice) noexcept {
    for (bounce& each : bounces_)
        if (each.holds(whose, step, slice)) each.of = nullptr;
}

// ---- the end

void port::say_goodbye() noexcept {
    if (!lane_) return;
    goodbye_.head.kind = frame_kind::goodbye;
    goodbye_.head.epoch = owner_.who_.epoch;
    lane_->send(goodbye_);
    lane_->flush();
}

void port::stop() noexcept {
    senders_ = {};
    receivers_ = {};
    for (bounce& each : bounces_) each.of = nullptr;
    if (lane_) lane_->stop();
}

void port::close() noexcept {
    if (lane_) lane_->close();
}

}  // namespace tutti
