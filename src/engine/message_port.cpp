#include "engine/message_port.hpp"

#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

message_port::message_port(messenger& owner, rank peer) : owner_(owner), peer_(peer) {
    const message_settings& limits = owner_.limits();
    mine_ = theirs_ = {limits.kept_messages, limits.kept_bytes};
    credit_.over = this;
    for (carrier& each : carriers_) each.over = this;
}

message* message_port::pending() const noexcept {
    for (const fetch* each = expected_.first(); each; each = fetch_queue::after(*each))
        if (each->into) return each->into;
    for (const message_queue* each : {&waiting_, &leaving_, &offered_, &ready_})
        if (!each->empty()) return each->first();
    for (const carrier& each : carriers_)
        if (each.load) return each.load;
    return arriving_ ? arriving_ : keeping_ ? keeping_->taker : nullptr;
}

void message_port::attach(std::unique_ptr<link> over) {
    lane_owner& here = *this;
    lane_ = make_lane(owner_.loop(), owner_.guard(), std::move(over), here, lane::kind::single, &owner_.together());
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

/// Gives the lane all waiting messages in the order of the calls. A message without credits is offered, which costs none, so it delays no
/// other.
void message_port::feed() noexcept {
    while (lane_ && !waiting_.empty()) {
        message& next = waiting_.pop();
        const std::size_t bytes = next.asked.bytes();
        const bool whole = bytes <= owner_.limits().eager_bytes && bytes <= mine_.bytes && mine_.messages > 0;
        if (whole) {
            --mine_.messages;
            mine_.bytes -= bytes;
        }
        next.head = {};
        next.head.payload_bytes = whole ? bytes : 0;
        next.head.what.type = static_cast<std::uint8_t>(next.asked.type);
        next.head.what.opaque_bytes = static_cast<std::uint32_t>(next.asked.opaque_bytes);
        next.head.what.count = next.asked.count;
        next.head.what.digest = next.asked.tag;
        next.queued = true;
        (whole ? leaving_ : offered_).push(next);
        if (!whole) offered_by_number_.push(0, next.number, next);
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

std::size_t message_port::slice_bytes(std::size_t whole, std::size_t slice) const noexcept {
    const std::size_t most = owner_.slice_bytes();
    return std::min(most, whole - slice * most);
}

void message_port::go_landed(const frame& head) noexcept {
    message& next = *offered_by_number_.first(0, head.sequence);
    offered_by_number_.remove(0, head.sequence, next);
    offered_.remove(next);
    if (head.slice == nothing_to_send) {
        owner_.end(next);
        return;
    }
    ready_.push(next);
    carry();
}

/// Gives the lane slices of messages that the peer has asked for. Messages take turns, a slice each.
void message_port::carry() noexcept {
    for (carrier& each : carriers_) {
        if (each.load) continue;
        message* const next = next_to_carry();
        if (!next) return;
        ready_.remove(*next);
        each.load = next;
        each.head.slice = static_cast<std::uint32_t>(next->slice++);
        each.head.payload_bytes = slice_bytes(next->asked.bytes(), each.head.slice);
        if (next->slice * owner_.slice_bytes() < next->asked.bytes()) ready_.push(*next);
        give_to_lane(each, frame_kind::data, next->number);
    }
}

/// Returns the next message with fewer than slices_ahead slices on their way; null without one. So no message occupies all carriers.
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

// ---- credits

void message_port::owe(std::size_t bytes) noexcept {
    ++owed_.messages;
    owed_.bytes += bytes;
    give_back();
}

/// Gives credits back when as many are owed as the peer still has: rarely, and yet the peer never waits for credits that are owed.
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
    for (message_queue* each : {&waiting_, &leaving_, &offered_, &ready_}) each->clear();
    offered_by_number_.clear();
    expected_.clear();
    for (carrier& each : carriers_) each.load = nullptr;
    arriving_ = nullptr;
    keeping_ = nullptr;
    fetching_ = nullptr;
    if (lane_) lane_->stop();
}

void message_port::close() noexcept {
    if (lane_) lane_->close();
}

}  // namespace tutti
