#include "communicator/control.hpp"

#include "base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace tutti {
namespace {

// Of a failure, which may have to name thousands of ranks.
constexpr std::size_t payload_limit = 64 * KiB;
constexpr std::size_t cause_limit = 32 * KiB;
constexpr std::size_t peers_limit = 4096;
constexpr std::uint32_t on_device = 1;  // in place of a slice

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
    const bool known = code >= static_cast<int>(error::cancelled) && code <= static_cast<int>(error::device_failed);
    why.code = known ? static_cast<error>(code) : error::protocol_error;
    why.root = in.take<rank>();
    const auto peers = in.take<std::uint16_t>();
    for (std::size_t index = 0; index < peers && !in.failed(); ++index) why.peers.push_back(in.take<rank>());
    why.cause = in.take_text();
    return why;
}

}  // namespace

/// Frames on their way to one peer, and the frame arriving from it.
class control::end final : private lane_owner {
public:
    using bytes = std::shared_ptr<const std::vector<std::byte>>;

    end(control& owner, rank peer, std::unique_ptr<link> over)
        : owner_(owner), peer_(peer), lane_(owner.loop_, owner.guard_, std::move(over), *this) {}

    void start() noexcept { lane_.resume(); }
    void send(frame_kind kind, rank about, bytes payload, std::uint64_t number = 0, const descriptor& what = {}, std::uint32_t slice = 0) {
        while (!frames_.empty() && frames_.front().gone) frames_.pop_front();
        auto& next = frames_.emplace_back();
        next.head.kind = kind;
        next.head.epoch = owner_.epoch_;
        next.head.place = static_cast<std::uint32_t>(about);
        next.head.sequence = number;
        next.head.slice = slice;
        next.head.what = what;
        next.head.payload_bytes = payload ? payload->size() : 0;
        next.payload = std::move(payload);
        lane_.send(next);
        lane_.flush();
    }
    void close() noexcept { lane_.close(); }

private:
    class message final : public outgoing {
    public:
        void gather(std::vector<std::span<const std::byte>>& runs) const override {
            if (payload) runs.emplace_back(*payload);
        }
        void sent() noexcept override { gone = true; }
        bytes payload;  // the same for all peers
        bool gone = false;
    };

    static bool belongs(frame_kind kind) noexcept {
        const bool about_group = kind >= frame_kind::abort && kind <= frame_kind::formed;
        return about_group || kind >= frame_kind::entered;
    }
    landing arrived(const frame& head, std::vector<std::span<std::byte>>& runs) noexcept override {
        if (!belongs(head.kind) || head.epoch != owner_.epoch_ || head.payload_bytes > payload_limit) {
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
    lane lane_;
    std::deque<message> frames_;  // stable addresses
    std::vector<std::byte> arriving_;
};

control::control(event_loop& loop, rank me, int size, std::uint32_t epoch, control_observer& observer)
    : loop_(loop), me_(me), epoch_(epoch), observer_(observer), ends_(static_cast<std::size_t>(size)), left_(static_cast<std::size_t>(size)),
      hung_up_(static_cast<std::size_t>(size)) {}

control::~control() { close(); }

void control::attach(rank peer, std::unique_ptr<link> over) {
    const std::lock_guard lock(guard_);
    auto& place = ends_[static_cast<std::size_t>(peer)];
    place = std::make_unique<end>(*this, peer, std::move(over));
    place->start();
}

void control::spread(const report& why) noexcept {
    const std::lock_guard lock(guard_);
    spread_except(why, me_);
}

void control::spread_except(const report& why, rank heard_from) noexcept {
    if (spread_) return;
    spread_ = true;
    const auto payload = std::make_shared<const std::vector<std::byte>>(encode(why));
    for (std::size_t peer = 0; peer < ends_.size(); ++peer)
        if (ends_[peer] && static_cast<rank>(peer) != heard_from) ends_[peer]->send(frame_kind::abort, me_, payload);
}

void control::say_formed() noexcept {
    const std::lock_guard lock(guard_);
    for (auto& each : ends_)
        if (each) each->send(frame_kind::formed, me_, {});
}

void control::say_entered(std::uint64_t number, duration within) noexcept {
    const std::lock_guard lock(guard_);
    std::vector<std::byte> payload(sizeof(std::int64_t));
    byte_writer(payload).put(static_cast<std::int64_t>(within.count()));
    for (auto& each : ends_)
        if (each) each->send(frame_kind::entered, me_, std::make_shared<const std::vector<std::byte>>(payload), number);
}

void control::say_release(std::uint64_t number) noexcept {
    const std::lock_guard lock(guard_);
    for (auto& each : ends_)
        if (each) each->send(frame_kind::release, me_, {}, number);
}

void control::say_waiting(std::uint64_t sequence, const descriptor& what) noexcept {
    const std::lock_guard lock(guard_);
    for (auto& each : ends_)
        if (each) each->send(frame_kind::waiting, me_, {}, sequence, what);
}

void control::say_waiting_on_device(std::uint64_t number, const descriptor& what) noexcept {
    const std::lock_guard lock(guard_);
    for (auto& each : ends_)
        if (each) each->send(frame_kind::waiting, me_, {}, number, what, on_device);
}

void control::say_goodbye() noexcept {
    const std::lock_guard lock(guard_);
    left_[static_cast<std::size_t>(me_)] = true;
    for (auto& each : ends_)
        if (each) each->send(frame_kind::goodbye, me_, {});
}

bool control::all_left() const noexcept { return std::find(left_.begin(), left_.end(), false) == left_.end(); }

void control::heard(rank from, const frame& head, std::vector<std::byte> payload) noexcept {
    if (head.kind == frame_kind::abort) {
        report why = decode_report(payload);
        spread_except(why, from);
        observer_.heard_failure(std::move(why));
        return;
    }
    if (head.kind == frame_kind::formed) {
        observer_.heard_formed();
        return;
    }
    if (head.kind == frame_kind::entered) {
        if (me_ == 0) observer_.heard_entered(from, head.sequence, duration(byte_reader(payload).take<std::int64_t>()));
        return;
    }
    if (head.kind == frame_kind::release) {
        if (from == 0) observer_.heard_release(head.sequence);
        return;
    }
    if (head.kind == frame_kind::waiting) {
        if (head.slice == on_device) observer_.heard_waiting_on_device(from, head.sequence, head.what);
        else observer_.heard_waiting(from, head.sequence, head.what);
        return;
    }
    if (head.kind == frame_kind::hang_up) {
        hung_up_[static_cast<std::size_t>(from)] = true;
        return;
    }
    const auto who = static_cast<std::size_t>(head.place);
    if (who >= left_.size() || left_[who]) return;
    left_[who] = true;
    if (me_ == 0)
        for (std::size_t peer = 1; peer < ends_.size(); ++peer)
            if (ends_[peer] && peer != who) ends_[peer]->send(frame_kind::goodbye, static_cast<rank>(who), {});
    observer_.heard_goodbye(static_cast<rank>(who));
}

void control::lost(rank peer) noexcept {
    if (hung_up_[static_cast<std::size_t>(peer)] || all_left()) return;
    hung_up_[static_cast<std::size_t>(peer)] = true;
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
    for (auto& each : ends_) {
        if (!each) continue;
        if (!spread_ && !all_left()) each->send(frame_kind::hang_up, me_, {});
        each->close();
    }
}

}  // namespace tutti
