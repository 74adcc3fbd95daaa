// What a lane does more over a link that shares memory: it lends payloads instead of copying them, reads what the other side has lent, and
// lets its owner take bytes where the link shows them.
#include "transport/lane.hpp"

#include "base/prefetch.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {

/// Of a shown payload so much is taken before the sender hears that there is room again.
static constexpr std::size_t shown_bytes = 64 * KiB;
static constexpr std::size_t longest_element = 16;
static_assert([] {
    for (int type = 0; type < data_type_count; ++type)
        if (size_of(static_cast<data_type>(type)) > longest_element) return false;
    return true;
}());

// ---- sending

/// Whether a payload is copied, lent, or written where it belongs is decided once, when its turn comes.
void lane::decide(std::size_t& budget) noexcept {
    while (undecided_) {
        outgoing& what = *undecided_;
        what.head.references = 0;
        what.head.answered = what.head.in_place = false;
        if (near_ && what.into.count > 0) {
            const bool written = outside([&] { return answer(what); });
            if (state_ == state::ended) return;
            what.head.in_place = written;
            if (written) budget -= std::min(budget, static_cast<std::size_t>(what.head.payload_bytes));
        } else if (near_) {
            refer(what);
        }
        undecided_ = what.next_in_lane;
    }
}

bool lane::answer(const outgoing& what) noexcept {
    send_runs_.clear();
    what.gather(send_runs_);
    return near_->write_back(what.into.where(), send_runs_);
}

/// What the other side only reads stays in its cache, and is slow to write here as long as it does; what it answers moves to and fro as a
/// whole.
void lane::refer(outgoing& what) noexcept {
    const std::size_t from = what.answer ? answered_from : lent_from;
    if (what.head.payload_bytes < from || (what.soon_written && !what.answer && near_->undisturbed())) return;
    send_runs_.clear();
    what.gather(send_runs_);
    if (send_runs_.size() > most_references) return;
    for (const auto& each : send_runs_)
        if (!near_->locate(each)) return;
    what.head.references = static_cast<std::uint8_t>(send_runs_.size());
    what.head.answered = what.answer.has_value();
}

void lane::take_returned() noexcept {
    if (!lent_first_) return;
    for (const std::uint64_t until = near_->returned(); lent_first_ && returned_ < until;) {
        ++returned_;
        outgoing& done = *lent_first_;
        lent_first_ = done.next_in_lane;
        done.sent();
    }
}

void lane::repaid() noexcept {
    const std::lock_guard lock(guard_);
    waiting_returned_ = false;
    if (state_ == state::ended) return;
    if (lent_first_ && near_->returned() == waited_beyond_) return send_failed(error::peer_died);
    take_returned();
    if (!waiting_writable_) pump_send();
    await_return();
}

/// Once for all that is lent.
void lane::await_return() noexcept {
    if (!lent_first_ || waiting_returned_) return;
    waiting_returned_ = true;
    waited_beyond_ = returned_;
    near_->when_returned(returned_, repaid_);
}

// ---- receiving

/// Whether all references of a frame have been taken from the buffer, and are the payload that its header tells of.
bool lane::take_references() noexcept {
    const std::size_t bytes = reference_bytes(head_);
    if (end_ - begin_ < bytes) return false;
    std::array<reference, most_references + 1> list{};
    std::memcpy(list.data(), buffer_.data() + begin_, bytes);
    begin_ += bytes;
    lent_.clear();
    loan_.count = head_.references;
    loan_.place = static_cast<std::uint32_t>(list[head_.references].offset);
    std::copy_n(list.begin(), most_references, loan_.parts.begin());
    std::uint64_t total = 0;
    for (std::size_t index = 0; index < head_.references; ++index) {
        lent_.push_back(near_->borrow(list[index]));
        if (lent_.back().size() != list[index].bytes) break;
        total += lent_.back().size();
    }
    state_ = state::parked;
    if (lent_.size() == head_.references && total == head_.payload_bytes) return true;
    fail(error::protocol_error);
    return false;
}

/// False when there is less than its header tells of, or nobody wants it any more.
bool lane::read_lent() noexcept {
    std::uint64_t offset = 0;
    for (const auto part : lent_) prefetch_pages(part.data(), part.size());
    for (auto part : lent_) {
        while (!part.empty()) {
            std::size_t bytes = 0;
            if (through_) {
                bytes = owner_.through(head_, offset, part);
                if (!spread_ && state_ == state::ended) return false;
            } else {
                while (runs_[run_].empty()) ++run_;
                bytes = std::min(part.size(), runs_[run_].size());
                std::memcpy(runs_[run_].data(), part.data(), bytes);
                runs_[run_] = runs_[run_].subspan(bytes);
                if (runs_[run_].empty()) ++run_;
            }
            if (bytes == 0) return false;
            offset += bytes;
            part = part.subspan(bytes);
        }
    }
    return true;
}

/// Reads a lent payload, and gives it back.
bool lane::take_lent(std::size_t& budget) noexcept {
    if (head_.answered) owner_.lent(head_, loan_);
    const bool read = outside([this] { return read_lent(); });
    if (state_ == state::ended) return false;
    // Of what has been revoked the bytes that were read may have been something else already.
    if (!read || near_->revoked()) {
        fail(read ? error::peer_died : error::protocol_error);
        return false;
    }
    budget -= std::min(budget, missing_);
    missing_ = 0;
    near_->give_back();
    return true;
}

/// Lets the owner take what the link shows of the payload: `used` bytes. An element that lies in two pieces is put together first, in the
/// buffer.
moved lane::show(std::size_t& used) noexcept {
    const std::uint64_t offset = head_.payload_bytes - missing_;
    if (end_ == 0) {
        std::span<const std::byte> run;
        const moved there = near_->peek(run);
        if (there.bytes == 0) return there;
        used = owner_.through(head_, offset, run.first(std::min({run.size(), missing_, shown_bytes})));
        if (used > 0) {
            near_->skip(used);
            return there;
        }
    }
    const std::size_t whole = std::min(missing_, longest_element);
    const std::span<std::byte> parts[] = {std::span(buffer_).first(whole).subspan(end_)};
    const moved came = link_->try_recv(parts);
    end_ += came.bytes;
    if (end_ < whole) return came;
    used = owner_.through(head_, offset, std::span(buffer_).first(whole));
    if (used != whole) used = 0;
    end_ = 0;
    return came;
}

/// False when there was nothing, or an end.
bool lane::pass_through(std::size_t& budget) noexcept {
    std::size_t used = 0;
    const auto [bytes, code] = outside([&] { return show(used); });
    if (state_ == state::ended) return false;
    if (bytes == 0) return nothing_came(code);
    missing_ -= used;
    budget -= std::min(budget, used);
    if (used == 0 && end_ == 0) fail(error::protocol_error);
    return state_ != state::ended;
}

}  // namespace tutti
