// The frames that come over a point lane, and what becomes of messages whose receive ends early.
#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tutti {

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
        const message* const offered = offered_by_number_.first(0, head.sequence);
        if (offered && !offered->queued && head.slice <= nothing_to_send) return landing::here;
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

/// Returns whether a frame announces a possible message, and its payload has that length.
static bool sound(const frame& head) noexcept {
    if (head.what.type >= data_type_count || head.what.digest == any_tag) return false;
    const auto type = static_cast<data_type>(head.what.type);
    const std::size_t element = type == data_type::opaque ? head.what.opaque_bytes : size_of(type);
    if (element == 0) return false;
    if (head.what.count > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / element) return false;
    if (head.kind == frame_kind::offer) return head.payload_bytes == 0;
    return head.payload_bytes == head.what.count * element;
}

landing message_port::new_message(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    if (!sound(head) || head.sequence != arrived_ + 1)
        return refuse(fmt::format("rank {} sent a message #{} of type {} count {} in a frame of {} bytes, rank {} waits for message #{}",
                                  peer_, head.sequence, head.what.type, head.what.count, head.payload_bytes, owner_.me(), arrived_ + 1));
    const bool offered = head.kind == frame_kind::offer;
    if (offered && offers_ == owner_.most_offers())
        return refuse(fmt::format("rank {} offered message #{} while {} of its messages were under way, which is the limit", peer_,
                                  head.sequence, offers_));
    if (!offered && (theirs_.messages == 0 || head.payload_bytes > theirs_.bytes))
        return refuse(
            fmt::format("rank {} sent message #{} of {} bytes without the credits for it", peer_, head.sequence, head.payload_bytes));
    ++arrived_;
    arrival_ = owner_.match().next_arrival();
    if (offered) {
        ++offers_;
        return landing::here;
    }
    --theirs_.messages;
    theirs_.bytes -= head.payload_bytes;
    const received what = told_by(head, peer_);
    message* const receiver = owner_.match().claim(peer_, what.tag);
    if (receiver && !owner_.fits(*receiver, what, head.sequence)) {
        throw_away(head.payload_bytes, runs);
        return landing::here;
    }
    arriving_ = receiver;
    if (!receiver) keeping_ = &owner_.keep(what, head.sequence, head.payload_bytes, arrival_);
    if (head.payload_bytes > 0) runs.emplace_back(receiver ? receiver->asked.memory : keeping_->data.get(), head.payload_bytes);
    return landing::here;
}

landing message_port::next_slice(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept {
    // Messages are served in the order of their go, so the search is short.
    fetch* into = expected_.first();
    while (into && into->number != head.sequence) into = fetch_queue::after(*into);
    if (!into || into->queued)
        return refuse(fmt::format("rank {} sent bytes of message #{}, which rank {} has not asked for", peer_, head.sequence, owner_.me()));
    const std::size_t bytes = slice_bytes(into->bytes, into->slice);
    if (head.slice != into->slice || head.payload_bytes != bytes)
        return refuse(fmt::format("rank {} sent {} bytes as slice {} of message #{}, rank {} waits for {} bytes, slice {}", peer_,
                                  head.payload_bytes, head.slice, head.sequence, owner_.me(), bytes, into->slice));
    fetching_ = into;
    if (into->into) runs.emplace_back(into->into->asked.memory + into->done_bytes, bytes);
    else throw_away(bytes, runs);
    return landing::here;
}

void message_port::landed(const frame& head) noexcept {
    switch (head.kind) {
        case frame_kind::message: message_landed(head.payload_bytes); break;
        case frame_kind::offer: offer_landed(head); break;
        case frame_kind::data: slice_landed(head); break;
        case frame_kind::go: go_landed(head); break;
        case frame_kind::credit:
            mine_.messages += head.what.count;
            mine_.bytes += head.what.digest;
            break;
        default: peer_left(); break;
    }
    give_back();
    lane_->flush();
}

void message_port::message_landed(std::size_t bytes) noexcept {
    unexpected* const kept = std::exchange(keeping_, nullptr);
    message* const receiver = kept ? kept->taker : std::exchange(arriving_, nullptr);
    if (kept) {
        kept->landed = true;
        if (!receiver && !kept->unwanted) return;
        if (receiver) std::copy_n(kept->data.get(), bytes, receiver->asked.memory);
        owner_.match().free(*kept);
    }
    owe(bytes);
    if (!receiver) return;
    receiver->done_bytes = bytes;
    owner_.end(*receiver);
}

void message_port::offer_landed(const frame& head) noexcept {
    const received what = told_by(head, peer_);
    message* const receiver = owner_.match().claim(peer_, what.tag);
    if (receiver) say_go(owner_.fits(*receiver, what, head.sequence) ? receiver : nullptr, what, head.sequence);
    else owner_.keep(what, head.sequence, 0, arrival_).offered = true;
}

void message_port::slice_landed(const frame& head) noexcept {
    fetch& from = *std::exchange(fetching_, nullptr);
    from.done_bytes += head.payload_bytes;
    ++from.slice;
    if (from.into) from.into->done_bytes = from.done_bytes;
    if (from.done_bytes < from.bytes) return;
    --offers_;
    expected_.remove(from);
    free_.push_back(&from);
    if (from.into) owner_.end(*from.into);
}

/// Answers an offer. The message's bytes come if `receiver` takes it and there are any; else the sender is told that it has ended.
void message_port::say_go(message* receiver, const received& what, std::uint64_t number) noexcept {
    if (free_.empty()) {
        free_.push_back(owned_.emplace_back(std::make_unique<fetch>()).get());
        free_.reserve(owned_.capacity());
    }
    fetch& asking = *free_.back();
    free_.pop_back();
    asking.over = this;
    const bool comes = receiver && what.bytes() > 0;
    asking.into = comes ? receiver : nullptr;
    asking.number = number;
    asking.bytes = comes ? what.bytes() : 0;
    asking.done_bytes = asking.slice = 0;
    asking.queued = true;
    asking.head = {};
    asking.head.slice = comes ? 0 : nothing_to_send;
    if (comes) {
        receiver->over = this;
        receiver->by = &asking;
        expected_.push(asking);
    } else {
        --offers_;
    }
    give_to_lane(asking, frame_kind::go, number);
    if (receiver && !comes) owner_.end(*receiver);
}

void fetch::sent() noexcept { over->sent(*this); }

void message_port::sent(fetch& which) noexcept {
    which.queued = false;
    if (which.bytes == 0) free_.push_back(&which);
}

void message_port::accept(message* receiver, unexpected& kept) noexcept {
    owner_.match().take(kept);
    if (!kept.offered && !kept.landed) {
        kept.taker = receiver;
        kept.unwanted = !receiver;
        return;
    }
    if (kept.offered) {
        say_go(receiver, kept.what, kept.number);
        owner_.match().free(kept);
        return;
    }
    const std::size_t bytes = kept.bytes;
    if (receiver) std::copy_n(kept.data.get(), bytes, receiver->asked.memory);
    owner_.match().free(kept);
    owe(bytes);
    if (!receiver) return;
    receiver->done_bytes = bytes;
    owner_.end(*receiver);
}

// ---- receives that end early

/// A message that travels whole goes to the next receive that fits, or is kept: nothing of it is lost. A message that has been asked for
/// comes anyway, and is thrown away.
void message_port::let_go(message& receiver) noexcept {
    if (fetch* const from = std::exchange(receiver.by, nullptr)) {
        from->into = nullptr;
        if (fetching_ == from) throw_rest_away();
        return;
    }
    if (arriving_ == &receiver) keep_instead(receiver);
    else if (keeping_ && keeping_->taker == &receiver) {
        keeping_->taker = nullptr;
        owner_.match().put_back(*keeping_);
    } else return;
    if (keeping_) owner_.find_taker(*keeping_);
}

/// Keeps a message that is landing in `receiver`'s memory: copies the bytes that have landed, and redirects the rest.
void message_port::keep_instead(message& receiver) {
    const std::size_t bytes = receiver.total_bytes(), rest = lane_->missing();
    arriving_ = nullptr;
    if (rest == 0) return;  // only if the lane has ended: a message whose last byte has landed is not arriving_
    keeping_ = &owner_.match().keep(receiver.what, receiver.number, bytes, arrival_);
    std::copy_n(receiver.asked.memory, bytes - rest, keeping_->data.get());
    const std::span<std::byte> there(keeping_->data.get() + (bytes - rest), rest);
    lane_->redirect({&there, 1});
}

/// Appends runs of scrap memory: one piece of at most 1 MiB, again and again.
void message_port::throw_away(std::size_t bytes, std::vector<std::span<std::byte>>& runs) {
    constexpr std::size_t most = 1 * MiB;
    if (scrap_.size() < std::min(bytes, most)) scrap_.resize(std::min(bytes, most));
    for (; bytes > 0; bytes -= std::min(bytes, most)) runs.push_back(std::span(scrap_).first(std::min(bytes, most)));
}

void message_port::throw_rest_away() {
    std::vector<std::span<std::byte>> runs;
    throw_away(lane_->missing(), runs);
    if (!runs.empty()) lane_->redirect(runs);
}

}  // namespace tutti
