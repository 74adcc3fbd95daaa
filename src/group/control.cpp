#include "group/control.hpp"

#include "base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace tutti {
namespace {

// A failure is the longest payload: 32 KiB of text and 4096 ranks of 4 bytes. A longer payload is refused, so no peer makes a buffer longer.
constexpr std::size_t payload_limit = 64 * KiB;
constexpr std::size_t cause_limit = 32 * KiB;
constexpr std::size_t peers_limit = 4096;
constexpr std::size_t label_limit = 255;
constexpr std::uint32_t on_device = 1;  // frame::slice of a `waiting` frame about devices

std::vector<std::byte> encode(const report& why) {
    std::vector<std::byte> bytes(payload_limit);
    byte_writer out(bytes);
    out.put(static_cast<std::int32_t>(why.code.category() == error_category() ? why.code.value() : static_cast<int>(error::system)));
    out.put(why.root);
    const std::size_t peers = std::min(why.peers.size(), peers_limit);
    out.put(static_cast<std::uint16_t>(peers));
    for (std::size_t index = 0; index < peers; ++index) out.put(why.peers[index]);
    out.put_text(why.cause, cause_limit);
    bytes.resize(out.written());
    return bytes;
}

report decode_report(std::span<const std::byte> bytes) {
    byte_reader in(bytes);
    report why;
    const auto code = in.take<std::int32_t>();
    const bool known = code >= static_cast<int>(error::cancelled) && code <= static_cast<int>(error::truncated);
    why.code = known ? static_cast<error>(code) : error::protocol_error;
    why.root = in.take<rank>();
    const auto peers = in.take<std::uint16_t>();
    for (std::size_t index = 0; index < peers && !in.failed(); ++index) why.peers.push_back(in.take<rank>());
    why.cause = in.take_text();
    return why;
}

}  // namespace

/// One lane: the frames on their way to its peer, and the frame that arrives. Used with the guard held.
class control::neighbour final : private lane_owner {
public:
    neighbour(control& owner, rank peer, std::unique_ptr<link> over)
        : owner_(owner), peer_(peer), lane_(make_lane(owner.loop_, owner.guard_, std::move(over), *this)) {}

    void start() noexcept { lane_->resume(); }
    bool flushed() const noexcept { return ended || lane_->flushed(); }
    void send(frame_kind kind, rank about, bytes payload, std::uint64_t number = 0, const call_signature& what = {}, std::uint32_t slice = 0) {
        if (ended) return;
        while (!frames_.empty() && frames_.front().gone) frames_.pop_front();
        auto& next = frames_.emplace_back();
        next.head.kind = kind;
        next.head.epoch = owner_.epoch_;
        next.head.index = static_cast<std::uint32_t>(about);
        next.head.sequence = number;
        next.head.slice = slice;
        next.head.what = what;
        next.head.payload_bytes = payload ? payload->size() : 0;
        next.payload = std::move(payload);
        lane_->send(next);
        lane_->flush();
    }
    void close() noexcept { lane_->close(); }

    bool heard = false;  // a frame has come; from then on an end without a goodbye is a death
    bool ended = false;

private:
    class control_frame final : public outgoing {
    public:
        void gather(std::vector<std::span<const std::byte>>& runs) const override {
            if (payload) runs.emplace_back(*payload);
        }
        void sent() noexcept override { gone = true; }
        bytes payload;
        bool gone = false;
    };

    static bool belongs(frame_kind kind) noexcept {
        return (kind >= frame_kind::abort && kind <= frame_kind::hang_up) || kind >= frame_kind::entered;
    }
    landing arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept override {
        if (!belongs(head.kind) || head.epoch != owner_.epoch_ || head.payload_bytes > payload_limit || owner_.is_ahead(head)) {
            owner_.lost(peer_);
            return landing::refuse;
        }
        arriving_.resize(head.payload_bytes);
        runs.emplace_back(arriving_);
        return landing::here;
    }
    void landed(const frame& head) noexcept override { owner_.heard(peer_, head, arriving_); }
    void lost(std::error_code) noexcept override { owner_.lost(peer_); }

    control& owner_;
    rank peer_;
    const std::unique_ptr<lane> lane_;
    std::deque<control_frame> frames_;  // stable addresses
    std::vector<std::byte> arriving_;
};

control::control(event_loop& loop, rank me, int size, std::uint32_t epoch, control_observer& observer)
    : loop_(loop),
      me_(me),
      epoch_(epoch),
      observer_(observer),
      parent_(parent_of(me)),
      left_(static_cast<std::size_t>(size)),
      gone_(left_),
      counted_(left_.size()) {}

control::~control() { close(); }

void control::attach(rank peer, std::unique_ptr<link> over) {
    const std::lock_guard lock(guard_);
    if (peer == 0) parent_ = 0;  // rank 0 dials no rank but orphans
    auto& made = neighbours_[peer];
    made = std::make_unique<neighbour>(*this, peer, std::move(over));
    inform(peer, *made);
    made->start();
}

/// Sends a new neighbour all that it may have missed. After a failure that is enough.
void control::inform(rank peer, neighbour& at) {
    at.send(frame_kind::here, me_, {});
    if (failure_) return at.send(frame_kind::abort, me_, failure_);
    if (peer != parent_ && released_ > 0) at.send(frame_kind::release, me_, {}, released_ - 1);
    if (peer != parent_ && roll_ >= released_ && roll_ > 0) at.send(frame_kind::roll, me_, {}, roll_);
    if (peer == parent_)
        for (const auto& [which, within] : entered_) send_entry(at, {which.second, which.first, within});
    for (std::size_t who = 0; who < left_.size(); ++who)
        if (left_[who])
            at.send(peer == parent_ && gone_[who] ? frame_kind::hang_up : frame_kind::goodbye, static_cast<rank>(who), {}, counted_[who]);
}

template <class Send>
void control::flood(rank heard_from, Send send) {
    for (auto& [peer, at] : neighbours_)
        if (peer != heard_from) send(*at);
}

void control::spread(const report& why) noexcept {
    const std::lock_guard lock(guard_);
    spread_except(why, me_);
}

void control::spread_except(const report& why, rank heard_from) noexcept {
    if (failure_) return;
    failure_ = std::make_shared<const std::vector<std::byte>>(encode(why));
    flood(heard_from, [this](neighbour& at) { at.send(frame_kind::abort, me_, failure_); });
}

void control::send_entry(neighbour& at, const entry& what) {
    std::vector<std::byte> payload(sizeof(std::int64_t));
    byte_writer(payload).put(static_cast<std::int64_t>(what.within.count()));
    at.send(frame_kind::entered, what.who, std::make_shared<const std::vector<std::byte>>(std::move(payload)), what.number);
}

void control::say_entered(std::uint64_t number, duration within) noexcept {
    const std::lock_guard lock(guard_);
    enter({me_, number, within});
}

/// The entry is kept until the release: the parent may leave before it has passed the entry on, or its link may not be there yet.
void control::enter(const entry& next) {
    if (!entered_.emplace(std::pair(next.number, next.who), next.within).second) return;
    if (const auto parent = neighbours_.find(parent_); parent != neighbours_.end()) send_entry(*parent->second, next);
}

void control::say_release(std::uint64_t number) noexcept {
    const std::lock_guard lock(guard_);
    release(number, me_);
}

void control::release(std::uint64_t number, rank heard_from) {
    released_ = number + 1;
    entered_.erase(entered_.begin(), entered_.lower_bound({released_, 0}));
    flood(heard_from, [this, number](neighbour& at) { at.send(frame_kind::release, me_, {}, number); });
}

/// Returns the payload of a `waiting` frame: the rank that it is for, and a label.
static std::shared_ptr<const std::vector<std::byte>> addressed(rank to, std::string_view label) {
    std::vector<std::byte> payload(sizeof(rank) + sizeof(std::uint16_t) + std::min(label.size(), label_limit));
    byte_writer out(payload);
    out.put(to);
    out.put_text(label, label_limit);
    return std::make_shared<const std::vector<std::byte>>(std::move(payload));
}

void control::say_waiting(std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept {
    const std::lock_guard lock(guard_);
    for (auto& [peer, at] : neighbours_) at->send(frame_kind::waiting, me_, addressed(peer, label), sequence, what);
}

void control::say_called(rank to, std::uint64_t sequence, const call_signature& what, std::string_view label) noexcept {
    const std::lock_guard lock(guard_);
    pass_on(to, me_, addressed(to, label), sequence, what);
}

/// Sends towards rank `to`. If the tree is cut there, nothing is sent: the rank that asked waits only for label_patience.
void control::pass_on(rank to, rank about, bytes payload, std::uint64_t sequence, const call_signature& what) {
    const rank over = next_towards(to, me_);
    auto next = neighbours_.find(to);
    if (next == neighbours_.end()) next = neighbours_.find(over == parent_of(me_) ? parent_ : over);
    if (next != neighbours_.end()) next->second->send(frame_kind::waiting, about, std::move(payload), sequence, what);
}

void control::heard_called(const frame& head, const std::vector<std::byte>& payload) {
    byte_reader in(payload);
    const auto to = in.take<rank>();
    const std::string_view label = in.take_text();
    const auto who = static_cast<rank>(head.index);
    if (in.failed() || head.index >= left_.size() || to < 0 || static_cast<std::size_t>(to) >= left_.size()) return;
    if (to == me_) observer_.heard_called(who, head.sequence, head.what, label);
    else pass_on(to, who, addressed(to, label), head.sequence, head.what);
}

void control::say_waiting_on_device(std::uint64_t number, const call_signature& what) noexcept {
    const std::lock_guard lock(guard_);
    flood(me_, [&](neighbour& at) { at.send(frame_kind::waiting, me_, {}, number, what, on_device); });
}

void control::say_goodbye(std::uint64_t calls) noexcept {
    const std::lock_guard lock(guard_);
    pass_goodbye(me_, me_, frame_kind::goodbye, calls + 1);
}

bool control::all_left() const noexcept { return std::find(left_.begin(), left_.end(), false) == left_.end(); }

void control::heard(rank from, const frame& head, const std::vector<std::byte>& payload) noexcept {
    neighbours_.at(from)->heard = true;
    switch (head.kind) {
        case frame_kind::here: return heard_here(from, head);
        case frame_kind::roll:
            if (from == parent_) answer_roll(head.sequence);
            return;
        case frame_kind::abort: {
            if (failure_) return;
            report why = decode_report(payload);
            spread_except(why, from);
            return observer_.heard_failure(std::move(why));
        }
        case frame_kind::entered: return heard_entered(from, head, duration(byte_reader(payload).take<std::int64_t>()));
        case frame_kind::release:
            if (from != parent_ || head.sequence < released_) return;
            release(head.sequence, from);
            return observer_.heard_release(head.sequence);
        case frame_kind::waiting:
            if (head.slice == on_device) return observer_.heard_waiting_on_device(from, head.sequence, head.what);
            return heard_called(head, payload);
        default:
            if (head.index < left_.size() && static_cast<rank>(head.index) != me_)
                pass_goodbye(from, static_cast<rank>(head.index), head.kind, head.sequence);
            return;
    }
}

/// A correct rank has at most most_barriers barriers under way (monitor::arrive), so this peer is not one.
bool control::is_ahead(const frame& head) const noexcept {
    return head.kind == frame_kind::entered && head.sequence >= released_ && head.sequence - released_ >= most_barriers;
}

void control::heard_entered(rank from, const frame& head, duration within) {
    if (head.index >= left_.size() || from == parent_ || head.sequence < released_) return;
    const entry next{static_cast<rank>(head.index), head.sequence, within};
    if (me_ == 0) observer_.heard_entered(next.who, next.number, next.within);
    else enter(next);
}

void control::call_roll(std::uint64_t number) noexcept {
    const std::lock_guard lock(guard_);
    roll_ = number;
    flood(me_, [this, number](neighbour& at) { at.send(frame_kind::roll, me_, {}, number); });
}

void control::answer_roll(std::uint64_t number) {
    roll_ = number;
    flood(parent_, [this, number](neighbour& at) { at.send(frame_kind::roll, me_, {}, number); });
    neighbours_.at(parent_)->send(frame_kind::here, me_, {}, number);
}

/// The first `here` of a lane has no barrier and is not passed on; the others answer a roll.
void control::heard_here(rank from, const frame& head) {
    if (head.sequence == 0 || head.index >= left_.size() || from == parent_) return;
    if (me_ == 0) return observer_.heard_answer(static_cast<rank>(head.index), head.sequence);
    if (const auto parent = neighbours_.find(parent_); parent != neighbours_.end())
        parent->second->send(frame_kind::here, static_cast<rank>(head.index), {}, head.sequence);
}

/// Passes a goodbye on. That a rank hangs up concerns only the root, so downwards it is a plain goodbye.
void control::pass_goodbye(rank from, rank who, frame_kind kind, std::uint64_t counted) {
    const auto index = static_cast<std::size_t>(who);
    const bool waits = kind == frame_kind::goodbye, news = !left_[index], worse = !waits && !gone_[index];
    left_[index] = true;
    if (news) counted_[index] = counted;
    gone_[index] = gone_[index] || !waits;
    for (auto& [peer, at] : neighbours_)
        if (peer != from && (news || (worse && peer == parent_)))
            at->send(peer == parent_ ? kind : frame_kind::goodbye, who, {}, counted_[index]);
    if (news && who != me_) observer_.heard_goodbye(who);
    if (worse && me_ == 0) observer_.heard_gone(who);
    if (worse && who == parent_ && who != 0) observer_.orphaned();
}

void control::note_gone(rank who) noexcept {
    const std::lock_guard lock(guard_);
    pass_goodbye(me_, who, frame_kind::hang_up);
}

rank control::next_towards(rank to, rank from) noexcept {
    for (rank at = to; at > from; at = parent_of(at))
        if (parent_of(at) == from) return at;
    return parent_of(from);
}

bool control::flushed() noexcept {
    const std::lock_guard lock(guard_);
    return std::all_of(neighbours_.begin(), neighbours_.end(), [](const auto& each) { return each.second->flushed(); });
}

bool control::orphan() const noexcept {
    const auto parent = neighbours_.find(parent_);
    return parent != neighbours_.end() && parent->second->ended;
}

void control::lost(rank peer) noexcept {
    neighbour& at = *neighbours_.at(peer);
    at.ended = true;
    if (failure_ || gone_[static_cast<std::size_t>(peer)] || all_left()) return;
    if (!at.heard) {  // it left while the link was being made, and its hang_up was lost
        if (peer != parent_) pass_goodbye(me_, peer, frame_kind::hang_up);
        return;
    }
    report why;
    why.code = error::peer_died;
    why.root = peer;
    why.peers = {peer};
    why.cause = fmt::format("rank {} died: its connection ended without a goodbye", peer);
    spread_except(why, peer);
    observer_.heard_failure(std::move(why));
}

void control::close() noexcept {
    const std::lock_guard lock(guard_);
    if (closed_) return;
    closed_ = true;
    const bool said = left_[static_cast<std::size_t>(me_)];
    left_[static_cast<std::size_t>(me_)] = true;
    const auto kind = all_left() ? frame_kind::goodbye : frame_kind::hang_up;
    for (auto& [peer, at] : neighbours_) {
        if (!failure_ && (!said || !all_left())) at->send(kind, me_, {}, counted_[static_cast<std::size_t>(me_)]);
        at->close();
    }
}

void control::let_go() noexcept {
    decltype(neighbours_) gone;  // destroyed after the guard is free
    const std::lock_guard lock(guard_);
    gone.swap(neighbours_);
}

}  // namespace tutti
