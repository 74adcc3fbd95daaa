#include "engine/message_port.hpp"

#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tutti {

message_port::message_port(messenger& owner, rank peer) : owner_(owner), peer_(peer) {
    const message_settings& limits = owner_.limits();
    mine_ = theirs_ = {limits.kept_messages, limits.kept_bytes};
    credit_.over = this;
    for (carrier& each : carriers_) each.over = this;
}

message* message_port::pending() const noexcept {
    for (const message_queue* each : {&expected_, &waiting_, &leaving_, &offered_, &ready_})
        if (!each->empty()) return each->first();
    for (const carrier& each : carriers_)
        if (each.load) return each.load;
    return arriving_ ? arriving_ : keeping_ ? keeping_->taker : nullptr;
}

void message_port::attach(std::unique_ptr<link> over) {
    lane_owner& here = *this;
    lane_ = std::make_unique<lane>(owner_.loop(), owner_.guard(), std::move(over), here, lane::kind::single, &owner_.together());
    feed();
    lane_->flush();
    lane_->resume();
}

void message_port::flush() noexcept {
    if (lane_) lane_->flush();
}

void message_port::expect() noexcept {
    if (lane_ && awaits()) lane_->expect();
}

bool message_port::awaits() const noexcept {
    return !expected_.empty() || !offered_.empty() || owner_.match().waiting(peer_) || owner_.match().waiting(any_source);
}

// ---- sending

void message_port::give_to_lane(outgoing& one, frame_kind kind, std::uint64_t number) noexcept {
    one.head.kind = kind;
    one.head.epoch = owner_.epoch();
    one.head.sequence = number;
    lane_->send(one);
}

void message_port::send(message& next) noexcept {
    next.over = this;
    next.number = ++numbered_;
    waiting_.push(next);
    feed();
}

/// In the order of the calls: one that has to wait for credits holds back those behind it, which need them as well.
void message_port::feed() noexcept {
    while (lane_ && !waiting_.empty() && mine_.messages > 0) {
        message& next = waiting_.pop();
        const std::size_t bytes = next.asked.bytes();
        const bool whole = bytes <= owner_.limits().eager_bytes && bytes <= mine_.bytes;
        --mine_.messages;
        if (whole) mine_.bytes -= bytes;
        next.head = {};
        next.head.payload_bytes = whole ? bytes : 0;
        next.head.what.type = static_cast<std::uint8_t>(next.asked.type);
        next.head.what.opaque_bytes = static_cast<std::uint32_t>(next.asked.opaque_bytes);
        next.head.what.count = next.asked.count;
        next.head.what.digest = next.asked.tag;
        next.queued = true;
        (whole ? leaving_ : offered_).push(next);
        give_to_lane(next, whole ? frame_kind::message : frame_kind::offer, next.number);
    }
}

void message_port::sent(message& which) noexcept {
    which.queued = false;
    if (which.head.kind != frame_kind::message) return;
    leaving_.remove(which);
    which.done_bytes = which.asked.bytes();
    owner_.end(which);
}

std::size_t message_port::slice_bytes(const message& of, std::size_t slice) const noexcept {
    const std::size_t whole = owner_.slice_bytes(), first = slice * whole;
    return std::min(whole, of.total_bytes() - first);
}

void message_port::go_landed(std::uint64_t number) noexcept {
    for (message* each = offered_.first(); each; each = message_queue::after(*each)) {
        if (each->number != number) continue;
        offered_.remove(*each);
        ready_.push(*each);
        carry();
        return;
    }
}

/// Messages take turns, a slice each.
void message_port::carry() noexcept {
    for (carrier& each : carriers_) {
        if (each.load) continue;
        message* const next = next_to_carry();
        if (!next) return;
        ready_.remove(*next);
        each.load = next;
        each.head.slice = static_cast<std::uint32_t>(next->slice++);
        each.head.payload_bytes = slice_bytes(*next, each.head.slice);
        each.copied_bytes = next->asked.bytes();
        if (next->slice * owner_.slice_bytes() < next->asked.bytes()) ready_.push(*next);
        give_to_lane(each, frame_kind::data, next->number);
    }
}

/// One that has few slices on their way: others shall not wait for all of it.
message* message_port::next_to_carry() const noexcept {
    for (message* each = ready_.first(); each; each = message_queue::after(*each))
        if (each->slice * owner_.slice_bytes() < each->done_bytes + slices_ahead * owner_.slice_bytes()) return each;
    return nullptr;
}

std::size_t message_port::carrier::first_byte() const noexcept { return head.slice * over->owner_.slice_bytes(); }

void message_port::carrier::gather(std::vector<std::span<const std::byte>>& runs) const {
    runs.emplace_back(load->asked.memory + first_byte(), head.payload_bytes);
}

void message_port::carried(carrier& by) noexcept {
    message& load = *std::exchange(by.load, nullptr);
    load.done_bytes += by.head.payload_bytes;
    if (load.done_bytes == load.asked.bytes()) owner_.end(load);
    carry();
}

// ---- receiving

landing message_port::refuse(std::string cause) noexcept {
    report why;
    why.code = error::protocol_error;
    why.cause = std::move(cause);
    why.peers = {owner_.me(), peer_};
    owner_.fail(std::move(why));
    return landing::refuse;
}

landing message_port::arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    if (head.epoch != owner_.epoch())
        return refuse(fmt::format("rank {} sent a frame of epoch {}, this is epoch {}", peer_, head.epoch, owner_.epoch()));
    if (head.in_place) return refuse(fmt::format("rank {} sent a message as if it lay in its place already, which no message does", peer_));
    if (head.kind == frame_kind::data) return next_slice(head, runs);
    if (head.kind == frame_kind::message || head.kind == frame_kind::offer) return new_message(head, runs);
    if (head.payload_bytes == 0 && (head.kind == frame_kind::goodbye || head.kind == frame_kind::credit)) return landing::here;
    if (head.payload_bytes == 0 && head.kind == frame_kind::go) {
        for (const message* each = offered_.first(); each; each = message_queue::after(*each))
            if (each->number == head.sequence && !each->queued) return landing::here;
        return refuse(fmt::format("rank {} asked for message #{}, which rank {} does not offer", peer_, head.sequence, owner_.me()));
    }
    return refuse(fmt::format("rank {} sent a frame that does not belong on a point lane", peer_));
}

static received told_by(const frame& head, rank source) noexcept {
    received what;
    what.source = source;
    what.tag = head.what.digest;
    what.count = head.what.count;
    what.type = static_cast<data_type>(head.what.type);
    what.opaque_bytes = head.what.opaque_bytes;
    return what;
}

/// Whether the message that a frame announces can be one, and is what its frame carries.
static bool sound(const frame& head) noexcept {
    if (head.what.type >= data_type_count || head.what.digest == any_tag) return false;
    const auto type = static_cast<data_type>(head.what.type);
    const std::size_t element = type == data_type::opaque ? head.what.opaque_bytes : size_of(type);
    if (element == 0) return false;
    if (head.what.count > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / element) return false;
    if (head.kind == frame_kind::offer) return head.payload_bytes == 0 && head.what.count > 0;
    return head.payload_bytes == head.what.count * element;
}

landing message_port::new_message(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    if (!sound(head) || head.sequence != arrived_ + 1)
        return refuse(fmt::format("rank {} sent a message #{} of type {} count {} in a frame of {} bytes, rank {} waits for message #{}",
                                  peer_, head.sequence, head.what.type, head.what.count, head.payload_bytes, owner_.me(), arrived_ + 1));
    if (theirs_.messages == 0 || head.payload_bytes > theirs_.bytes)
        return refuse(
            fmt::format("rank {} sent message #{} of {} bytes without the credits for it", peer_, head.sequence, head.payload_bytes));
    ++arrived_;
    --theirs_.messages;
    theirs_.bytes -= head.payload_bytes;
    if (head.kind == frame_kind::offer) return landing::here;
    const received what = told_by(head, peer_);
    message* const receiver = owner_.match().claim(peer_, what.tag);
    if (receiver) {
        if (!owner_.fits(*receiver, what, head.sequence)) return landing::refuse;
        arriving_ = receiver;
        if (head.payload_bytes > 0) runs.emplace_back(receiver->asked.memory, head.payload_bytes);
        return landing::here;
    }
    keeping_ = &owner_.keep(what, head.sequence, head.payload_bytes);
    if (head.payload_bytes > 0) runs.emplace_back(keeping_->data.get(), head.payload_bytes);
    return landing::here;
}

landing message_port::next_slice(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    // Those that said go first are served first, so this does not look far.
    message* into = expected_.first();
    while (into && into->number != head.sequence) into = message_queue::after(*into);
    if (!into || into->queued)
        return refuse(fmt::format("rank {} sent bytes of message #{}, which rank {} has not asked for", peer_, head.sequence, owner_.me()));
    if (head.slice != into->slice || head.payload_bytes != slice_bytes(*into, into->slice))
        return refuse(fmt::format("rank {} sent {} bytes as slice {} of message #{}, rank {} waits for {} bytes, slice {}", peer_,
                                  head.payload_bytes, head.slice, head.sequence, owner_.me(), slice_bytes(*into, into->slice),
                                  into->slice));
    arriving_ = into;
    runs.emplace_back(into->asked.memory + into->done_bytes, head.payload_bytes);
    return landing::here;
}

void message_port::landed(const frame& head) noexcept {
    switch (head.kind) {
        case frame_kind::message: message_landed(); break;
        case frame_kind::offer: offer_landed(head); break;
        case frame_kind::data: slice_landed(head); break;
        case frame_kind::go: go_landed(head.sequence); break;
        case frame_kind::credit:
            mine_.messages += head.what.count;
            mine_.bytes += head.what.digest;
            feed();
            break;
        default: peer_left(); break;
    }
    give_back();
    lane_->flush();
}

void message_port::message_landed() noexcept {
    unexpected* const kept = std::exchange(keeping_, nullptr);
    message* const receiver = kept ? kept->taker : std::exchange(arriving_, nullptr);
    if (kept) kept->landed = true;
    if (!receiver) return;
    const std::size_t bytes = receiver->total_bytes();
    if (kept) {
        std::copy_n(kept->data.get(), bytes, receiver->asked.memory);
        owner_.match().free(*kept);
    }
    receiver->done_bytes = bytes;
    owe(bytes);
    owner_.end(*receiver);
}

void message_port::offer_landed(const frame& head) noexcept {
    const received what = told_by(head, peer_);
    message* const receiver = owner_.match().claim(peer_, what.tag);
    if (!receiver) {
        owner_.keep(what, head.sequence, 0).offered = true;
        return;
    }
    if (owner_.fits(*receiver, what, head.sequence)) say_go(*receiver);
}

void message_port::slice_landed(const frame& head) noexcept {
    message& receiver = *std::exchange(arriving_, nullptr);
    receiver.done_bytes += head.payload_bytes;
    ++receiver.slice;
    if (receiver.done_bytes < receiver.total_bytes()) return;
    expected_.remove(receiver);
    owner_.end(receiver);
}

void message_port::say_go(message& receiver) noexcept {
    owe(0);
    receiver.over = this;
    receiver.head = {};
    receiver.queued = true;
    expected_.push(receiver);
    give_to_lane(receiver, frame_kind::go, receiver.number);
}

void message_port::accept(message& receiver, unexpected& kept) noexcept {
    owner_.match().take(kept);
    if (!kept.offered && !kept.landed) {
        kept.taker = &receiver;
        return;
    }
    if (kept.offered) {
        owner_.match().free(kept);
        say_go(receiver);
        return;
    }
    const std::size_t bytes = kept.bytes;
    std::copy_n(kept.data.get(), bytes, receiver.asked.memory);
    receiver.done_bytes = bytes;
    owner_.match().free(kept);
    owe(bytes);
    owner_.end(receiver);
}

// ---- credits

void message_port::owe(std::size_t bytes) noexcept {
    ++owed_.messages;
    owed_.bytes += bytes;
    give_back();
}

/// Given back when as many are owed as the peer still has: rarely, and yet the peer never waits for credits that are owed.
void message_port::give_back() noexcept {
    const bool due = owed_.messages > 0 && (owed_.messages >= theirs_.messages || (owed_.bytes > 0 && owed_.bytes >= theirs_.bytes));
    if (!due || credit_.queued) return;
    credit_.queued = true;
    credit_.head = {};
    credit_.head.what.count = owed_.messages;
    credit_.head.what.digest = owed_.bytes;
    theirs_.messages += owed_.messages;
    theirs_.bytes += owed_.bytes;
    owed_ = {};
    give_to_lane(credit_, frame_kind::credit, 0);
}

// ---- the end

void message_port::peer_left() noexcept {
    if (left_) return;
    left_ = true;
    owner_.peer_left(*this);
}

void message_port::lost(std::error_code why) noexcept {
    broken_ = true;
    if (left_ && !pending() && !owner_.match().waiting(peer_)) return;
    owner_.lost(peer_, why);
}

void message_port::say_goodbye() noexcept {
    if (!lane_) return;
    give_to_lane(goodbye_, frame_kind::goodbye, 0);
    lane_->flush();
}

void message_port::stop() noexcept {
    for (message_queue* each : {&waiting_, &leaving_, &offered_, &ready_, &expected_}) each->clear();
    for (carrier& each : carriers_) each.load = nullptr;
    arriving_ = nullptr;
    keeping_ = nullptr;
    if (lane_) lane_->stop();
}

void message_port::close() noexcept {
    if (lane_) lane_->close();
}

}  // namespace tutti
