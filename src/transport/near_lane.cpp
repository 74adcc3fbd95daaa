#include "transport/near_lane.hpp"

#include "base/past_caches.hpp"
#include "transport/borrowing.hpp"
#include "transport/copy_runs.hpp"
#include "transport/lending.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tutti {
namespace {

/// At most so much of a shown payload is taken before the sender hears that there is room again.
constexpr std::size_t shown_bytes = 64 * KiB;
/// As much is put together when an element lies across the end of the ring. No element may lie across two staging buffers.
constexpr std::size_t longest_element = 16;
static_assert([] {
    for (int type = 0; type < data_type_count; ++type)
        if (const std::size_t bytes = size_of(static_cast<data_type>(type));
            bytes > longest_element || (bytes > 0 && staging_buffers::buffer_bytes % bytes != 0))
            return false;
    return true;
}(), "an element is longer than longest_element, or lies across two staging buffers");

/// Receives a frame by take_cell, then by give_inline, or by ask_owner and one of the ways of take_payload. Sends it by `begin`, and by
/// send_payload if its payload goes through the ring.
class near_lane final : public lane {
public:
    near_lane(event_loop& loop, std::mutex& guard, std::unique_ptr<tutti::link> over, near_link& near, lane_owner& owner, kind how)
        : lane(loop, guard, std::move(over), owner, how),
          near_(near),
          lending_(near, how == kind::single),
          borrowed_(near) {}
    ~near_lane() override {
        close();
        loop_.withdraw(repaid_);
    }

    bool send_now(const frame& head, std::span<const std::byte> payload) noexcept override;
    void look() noexcept override;
    bool near() const noexcept override { return true; }
    std::span<const std::span<std::byte>> lent() const noexcept override {
        if (state_ != state::announced || head_.references == 0) return {};
        return borrowed_.runs();
    }
    std::span<const std::span<std::byte>> answer_runs() const noexcept override {
        if (lent().empty()) return {};
        return borrowed_.answer_runs();
    }
    std::optional<std::uint32_t> answer_index() const noexcept override {
        return head_.answered ? std::optional(borrowed_.answer().index) : std::nullopt;
    }
    bool begin_writing() noexcept override { return near_.begin_writing(); }
    void end_writing() noexcept override { near_.end_writing(); }

private:
    void repaid() noexcept;
    void send_frames() noexcept override;
    bool begin(std::size_t& budget) noexcept;
    bool decide(outgoing& what, std::size_t& budget) noexcept;
    bool answer(const outgoing& what) noexcept;
    bool send_payload(std::size_t& budget) noexcept;
    void finish_first() noexcept;
    void dropped() noexcept override;
    void take_returned() noexcept override { lending_.take_returned(); }
    bool queues() const noexcept override { return lane::queues() || lending_.keeps_any(); }
    void await_return() noexcept;

    void read_frames() noexcept override;
    bool take_cell(std::size_t& budget) noexcept;
    void wait_for_cell() noexcept;
    bool give_inline() noexcept;
    bool unstage(std::size_t& budget) noexcept;
    bool take_payload(std::size_t& budget) noexcept;
    bool take_inline() noexcept;
    bool take_lent(std::size_t& budget) noexcept;
    std::size_t take_part(std::span<const std::byte> part, std::byte* back) noexcept;
    bool take_from_ring(std::size_t& budget) noexcept;
    moved show(std::size_t& used) noexcept;

    near_link& near_;
    // Sending.
    lending lending_;
    bool decided_ = false;    // how the first frame's payload travels
    bool begun_ = false;      // the first frame's cell has gone; its payload goes through the ring
    std::size_t offset_ = 0;  // bytes of that payload that have gone
    std::vector<std::span<const std::byte>> send_runs_;
    bool waiting_returned_ = false;
    detail::callback<&near_lane::repaid> repaid_{*this};

    // Receiving.
    alignas(16) cell_contents contents_;         // of the present frame's cell
    borrowing borrowed_;                         // what the peer has lent for it
    alignas(16) std::array<std::byte, longest_element> element_;  // one that lies across the end of the ring
    std::size_t element_bytes_ = 0;                               // of it that have come
};

// ---- sending

bool near_lane::send_now(const frame& head, std::span<const std::byte> payload) noexcept {
    if (spread_ || first_ || state_ == state::ended || send_code_ || !is_inline(head)) return false;
    const std::span<const std::byte> parts[] = {payload};
    return near_.send_cell(head, parts);
}

void near_lane::send_frames() noexcept {
    std::size_t budget = turn_bytes;
    while (first_ && state_ != state::ended && !turn_is_over_for_sending(budget))
        if (!(begun_ ? send_payload(budget) : begin(budget))) break;
    await_return();
}

/// Sends the first frame's cell. Returns false when the lane pauses or has ended.
bool near_lane::begin(std::size_t& budget) noexcept {
    outgoing& what = *first_;
    if (!decided_ && !decide(what, budget)) return false;
    decided_ = true;
    std::array<reference, most_references + 1> references;
    send_runs_.clear();
    if (what.head.references > 0) {
        references = lending::references_of(what);
        send_runs_.push_back(std::as_bytes(std::span(references)).first(reference_bytes(what.head)));
    } else if (is_inline(what.head)) {
        what.gather(send_runs_);
    }
    const bool gone = outside([&] { return near_.send_cell(what.head, send_runs_); });
    if (state_ == state::ended) return false;
    if (!gone) {
        if (const std::error_code trouble = near_.trouble()) send_failed(trouble);
        else await_room();
        return false;
    }
    budget -= std::min(budget, frame_bytes);
    begun_ = is_followed(what.head);
    if (!begun_) finish_first();
    return true;
}

/// Decides how a payload travels:
///
///     the peer lent memory for it (`into`), and:
///       it was written there while reading (answered)      nowhere: the header says in_place
///       it can be written there now (`answer`)             the same; the copy counts in the turn's budget
///       it cannot: revoked, or not such memory             in the cell or the ring
///     else                                                 as lending::refer says; a frame that needs staging buffers may wait here
///
/// Returns false when the frame waits, or the lane has ended.
bool near_lane::decide(outgoing& what, std::size_t& budget) noexcept {
    what.head.references = 0;
    what.head.answered = what.head.in_place = false;
    what.staged = nullptr;
    if (what.into.count > 0) {
        const bool before = what.into.answered, written = before || outside([&] { return answer(what); });
        if (state_ == state::ended) return false;
        what.head.in_place = written;
        if (written && !before) budget -= std::min(budget, static_cast<std::size_t>(what.head.payload_bytes));
        return true;
    }
    if (!lending_.refer(what)) return false;
    if (what.staged) budget -= std::min(budget, static_cast<std::size_t>(what.head.payload_bytes));
    return true;
}

bool near_lane::answer(const outgoing& what) noexcept {
    send_runs_.clear();
    what.gather(send_runs_);
    return near_.write_back(what.into.where(), send_runs_);
}

/// Copies as much of the first frame's payload into the ring as there is room for. Returns false when the lane pauses or has ended.
bool near_lane::send_payload(std::size_t& budget) noexcept {
    send_runs_.clear();
    first_->gather(send_runs_);
    const auto rest = without(send_runs_, offset_);
    const auto [bytes, code] = outside([&] { return link_->try_send(rest); });
    if (state_ == state::ended) return false;
    if (code) return send_failed(code), false;
    if (bytes == 0) return await_room(), false;
    budget -= std::min(budget, bytes);
    offset_ += bytes;
    if (offset_ == first_->head.payload_bytes) finish_first();
    return true;
}

/// The first frame has gone. If it was lent, it counts as sent when the peer has given it back, else at once.
void near_lane::finish_first() noexcept {
    begun_ = decided_ = false;
    offset_ = 0;
    outgoing& done = take_first();
    if (!lending_.keeps(done)) done.sent();  // may queue more frames, or close the lane
}

void near_lane::dropped() noexcept {
    lending_.forget();
    begun_ = decided_ = false;
    offset_ = 0;
}

void near_lane::repaid() noexcept {
    const std::lock_guard lock(guard_);
    waiting_returned_ = false;
    if (state_ == state::ended) return;
    take_returned();
    if (state_ == state::ended) return;
    if (lending_.awaits_return() && near_.trouble()) return send_failed(error::peer_died);
    if (!waiting_writable_) pump_send();
    await_return();
}

/// Waits, once for all lent frames, until the peer gives the next one back.
void near_lane::await_return() noexcept {
    if (!lending_.awaits_return() || waiting_returned_) return;
    waiting_returned_ = true;
    near_.when_returned(lending_.seen(), repaid_);
}

// ---- receiving

void near_lane::read_frames() noexcept {
    std::size_t budget = turn_bytes;
    while (state_ != state::ended) {
        if (state_ == state::header && !take_cell(budget)) return;
        // A short frame may end here. If no more is expected, look for the next one later. Work between a frame's arrival and the end of
        // the user's call counts in full; work while frames cross costs nothing.
        if (state_ == state::announced && budget > 0 && give_inline()) {
            if (state_ == state::ended || send_code_ || owner_.awaits()) continue;
            return wait_for_cell();
        }
        if (state_ == state::announced && !ask_owner()) return;
        if (turn_is_over_for_reading(budget)) return;
        if (!unstage(budget) || !take_payload(budget)) return;
        if (missing_ == 0) deliver();
    }
}

/// header -> announced, with the next cell. Returns false when there is none yet, or the lane has ended.
bool near_lane::take_cell(std::size_t& budget) noexcept {
    const bool came = outside([this] { return near_.take_cell(head_, contents_); });
    if (state_ == state::ended) return false;
    if (!came) {
        const std::error_code trouble = near_.trouble() ? near_.trouble() : send_code_;
        return trouble ? fail(trouble) : wait_for_cell(), false;
    }
    if (!is_possible(head_)) return fail(error::protocol_error), false;
    budget -= std::min(budget, frame_bytes);
    state_ = state::announced;
    if (head_.references == 0 || borrowed_.take(head_, contents_)) return true;
    const std::error_code lacking = near_.trouble();  // without a descriptor for the peer's arena no reference lies in it
    return fail(lacking ? lacking : error::protocol_error), false;
}

void near_lane::wait_for_cell() noexcept {
    waiting_readable_ = true;
    link_->expect(owner_.awaits());
    near_.when_cell(readable_);
}

void near_lane::look() noexcept {
    if (!waiting_readable_ || spread_ || !near_.end_wait()) return;
    waiting_readable_ = false;
    take_returned();
    if (lending_.awaits_staging() && !waiting_writable_) pump_send();
    pump_recv();
}

/// announced -> header, if the owner takes a frame with its inline payload as it came. Returns whether it did.
bool near_lane::give_inline() noexcept {
    if (!is_inline(head_)) return false;
    state_ = state::header;  // before the call: the owner may stop the lane in it
    const bool taken = owner_.taken(head_, std::span(contents_).first(static_cast<std::size_t>(head_.payload_bytes)));
    if (!taken && state_ == state::header) state_ = state::announced;
    return taken;
}

/// If the frame answers a staged payload, frees the buffers. If the answer lies there (in_place), copies it to its place first. Returns
/// false when the lane has ended.
bool near_lane::unstage(std::size_t& budget) noexcept {
    const staging_buffers::staged_payload* const in = lending_.answered_by(head_);
    if (!in) return true;
    const bool read = in->number > 0 && in->number <= near_.returned();  // else the peer answers a payload that it has not read
    if (!read || in->bytes != head_.payload_bytes) return fail(error::protocol_error), false;
    if (head_.in_place) {
        if (past_caches_) copy_runs<std::byte>(runs_, in->where(), copy_past_caches);
        else copy_runs<std::byte>(runs_, in->where());
        budget -= std::min(budget, in->bytes);
    }
    lending_.free(*in);
    return true;
}

/// Takes as much of the payload as is there. Returns false when nothing came, or the lane has ended.
bool near_lane::take_payload(std::size_t& budget) noexcept {
    if (head_.references > 0) return take_lent(budget);
    if (missing_ == 0) return true;
    return is_inline(head_) ? take_inline() : take_from_ring(budget);
}

bool near_lane::take_inline() noexcept {
    const auto payload = std::span<const std::byte>(contents_).first(missing_);
    if (!through_) {
        const std::span<const std::byte> parts[] = {payload};
        copy_runs<const std::byte>(runs_, parts);
    } else {
        const std::size_t used = outside([&] { return owner_.through(head_, 0, payload, nullptr); });
        if (used != missing_) fail(error::protocol_error);
    }
    missing_ = 0;
    return state_ != state::ended;
}

/// Takes a part of a lent payload, from the first missing byte on. Returns how many bytes it took; 0 when the lane has ended.
std::size_t near_lane::take_part(std::span<const std::byte> part, std::byte* back) noexcept {
    if (through_) {
        const std::size_t bytes = owner_.through(head_, head_.payload_bytes - missing_, part, back);
        missing_ -= bytes;
        return !spread_ && state_ == state::ended ? 0 : bytes;
    }
    while (runs_[run_].empty()) ++run_;
    const std::size_t bytes = std::min(part.size(), runs_[run_].size());
    if (past_caches_) copy_past_caches(runs_[run_].data(), part.data(), bytes);
    else std::memcpy(runs_[run_].data(), part.data(), bytes);
    landed(bytes);
    return bytes;
}

/// Reads a lent payload, and gives it back. If the sum is the answer, it is written in the same pass; else the owner hears where the answer
/// is wanted. Returns false when the lane has ended.
bool near_lane::take_lent(std::size_t& budget) noexcept {
    budget -= std::min(budget, missing_);
    const bool at_once = head_.answered && through_ && owner_.answers(head_, borrowed_.answer().index);
    const bool read = outside([&] { return borrowed_.read(at_once, [this](auto part, std::byte* back) { return take_part(part, back); }); });
    if (state_ == state::ended) return false;
    if (!read || !borrowed_.was_lent()) return fail(read ? error::peer_died : error::protocol_error), false;
    if (head_.answered) owner_.lent(head_, borrowed_.answer());
    near_.give_back();
    return true;
}

/// Takes the payload's next bytes out of the ring: to their place, or through the owner.
bool near_lane::take_from_ring(std::size_t& budget) noexcept {
    std::size_t used = 0;
    const auto [bytes, code] = outside([&] {
        if (through_) return show(used);
        const auto runs = std::span<const std::span<std::byte>>(runs_).subspan(run_);
        const moved came = past_caches_ ? near_.recv_past_caches(runs) : link_->try_recv(runs);
        used = came.bytes;
        return came;
    });
    if (state_ == state::ended) return false;
    if (bytes == 0) {
        if (code || send_code_) return fail(code ? code : send_code_), false;
        waiting_readable_ = true;
        link_->expect(owner_.awaits());
        link_->when_readable(readable_);
        return false;
    }
    budget -= std::min(budget, used);
    if (!through_) landed(used);
    else missing_ -= used;
    if (used == 0 && element_bytes_ == 0) fail(error::protocol_error);
    return state_ != state::ended;
}

/// Lets the owner take `used` bytes of the payload where the link shows them. An element in two pieces is put together first.
moved near_lane::show(std::size_t& used) noexcept {
    const std::uint64_t offset = head_.payload_bytes - missing_;
    if (element_bytes_ == 0) {
        std::span<const std::byte> run;
        const moved there = near_.peek(run);
        if (there.bytes == 0) return there;
        used = owner_.through(head_, offset, run.first(std::min({run.size(), missing_, shown_bytes})), nullptr);
        if (used > 0) {
            near_.skip(used);
            return there;
        }
    }
    const auto whole = std::span(element_).first(std::min(missing_, longest_element));
    const std::span<std::byte> parts[] = {whole.subspan(element_bytes_)};
    const moved came = link_->try_recv(parts);
    element_bytes_ += came.bytes;
    if (element_bytes_ < whole.size()) return came;
    used = owner_.through(head_, offset, whole, nullptr);
    if (used != whole.size()) used = 0;
    element_bytes_ = 0;
    return came;
}

}  // namespace

std::unique_ptr<lane> make_near_lane(event_loop& loop, std::mutex& guard, std::unique_ptr<link> over, near_link& near, lane_owner& owner,
                                     lane::kind how) {
    return std::make_unique<near_lane>(loop, guard, std::move(over), near, owner, how);
}

}  // namespace tutti
