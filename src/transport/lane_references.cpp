// The part of a lane that only links in shared memory use. It sends short frames beside the stream, and lends payloads instead of copying
// them. It reads payloads that the peer has lent, and lets its owner take bytes where the link shows them.
#include "transport/lane.hpp"

#include "base/past_caches.hpp"
#include "base/prefetch.hpp"
#include "transport/copy_runs.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {

/// At most so much of a shown payload is taken before the sender hears that there is room again.
static constexpr std::size_t shown_bytes = 64 * KiB;
/// As much is put together in the buffer when an element lies across the end of the ring. No element may lie across two staging buffers,
/// which are read one after the other.
static constexpr std::size_t longest_element = 16;
static_assert([] {
    for (int type = 0; type < data_type_count; ++type)
        if (const std::size_t bytes = size_of(static_cast<data_type>(type));
            bytes > longest_element || (bytes > 0 && staging_buffers::buffer_bytes % bytes != 0))
            return false;
    return true;
}());

// ---- sending

/// Decides for each frame, once, how its payload travels, and moves undecided_ behind it:
///
///     over a network                                       in the stream
///     the peer lent memory for it (`into`), and:
///       it was written there while reading (answered)      nowhere: the header says in_place
///       it can be written there now (`answer`)             the same; the copy counts in the turn's budget
///       it cannot: revoked, or not such memory             in the ring
///     else                                                 as `refer` says; a frame that needs staging buffers may stop here and wait
void lane::decide(std::size_t& budget) noexcept {
    while (undecided_ && budget > 0) {
        outgoing& what = *undecided_;
        what.head.references = 0;
        what.head.answered = what.head.in_place = false;
        what.staged = nullptr;
        if (near_ && what.into.count > 0) {
            const bool before = what.into.answered, written = before || outside([&] { return answer(what); });
            if (state_ == state::ended) return;
            what.head.in_place = written;
            if (written && !before) budget -= std::min(budget, static_cast<std::size_t>(what.head.payload_bytes));
        } else if (near_) {
            refer(what);
            if (staging_awaited_) return;
            if (what.staged) budget -= std::min(budget, static_cast<std::size_t>(what.head.payload_bytes));
        }
        undecided_ = what.next_in_lane;
    }
}

/// Returns what travels in place of a lent payload: its references, and one more if an answer is wanted. That one holds the answer's index
/// and how far beyond the payload the answer belongs; in staging buffers it belongs where the payload lies.
std::array<reference, most_references + 1> lane::references_of(const outgoing& what) noexcept {
    std::array<reference, most_references + 1> all{};
    std::copy_n(what.lends.begin(), what.head.references, all.begin());
    if (what.head.answered)
        all[what.head.references] = {what.answer.value_or(0), static_cast<std::uint64_t>(what.staged ? 0 : what.answer_beyond)};
    return all;
}

/// Sends the first frame as an inline cell and returns true, if the frame is short and decided, none of it has gone, and a cell is free. A
/// spread lane uses the stream only.
bool lane::cell_first(std::size_t& budget) noexcept {
    const outgoing& what = *first_;
    if (spread_ || offset_ > 0 || &what == undecided_ || !fits_cell(what.head)) return false;
    std::array<reference, most_references + 1> references;
    send_runs_.clear();
    if (what.head.references > 0) {
        references = references_of(what);
        send_runs_.push_back(std::as_bytes(std::span(references)).first(reference_bytes(what.head)));
    } else if (!what.head.in_place) what.gather(send_runs_);
    if (!near_->send_cell(what.head, send_runs_)) return false;
    budget -= std::min(budget, frame_bytes);
    sent_bytes(wire_bytes(what.head));
    return true;
}

bool lane::send_now(const frame& head, std::span<const std::byte> payload) noexcept {
    if (!near_ || spread_ || first_ || state_ == state::ended || send_code_) return false;
    const std::span<const std::byte> parts[] = {payload};
    return near_->send_cell(head, parts);
}

bool lane::answer(const outgoing& what) noexcept {
    send_runs_.clear();
    what.gather(send_runs_);
    return near_->write_back(what.into.where(), send_runs_);
}

/// Chooses how a payload travels that the peer has not lent memory for, by the first line that fits. A payload is lent in its own memory in
/// at most 4 runs only; with more it counts as not in the arena.
///
///     too short to lend                                 ring: a copy costs less than the wait until it is given back
///     no answer, written again soon, own cores          ring: lines that a peer only reads stay in its cache and are slow to write
///     an answer is wanted, but the payload or the
///       answer's place is not in the arena              staging buffers, with the answer there; if too few are free, as below
///     summed by the peer, shared cores, not in arena    staging buffers; waits for free ones (`stage`)
///     in the arena                                      lent where it lies, with the wish for an answer if its place is known
///     else                                              ring; also less than 128 KiB whose answer has found no place
///
/// An answered payload moves there and back as a whole, so it is not slow to write. On shared cores the next rank to run fills the cache anew.
void lane::refer(outgoing& what) noexcept {
    staging_awaited_ = false;
    const bool summed = what.summed && !what.answer && !near_->undisturbed();
    const std::size_t from = what.answer || summed ? answered_from : lent_from;
    if (what.head.payload_bytes < from || (what.soon_written && !what.answer && near_->undisturbed())) return;
    send_runs_.clear();
    what.gather(send_runs_);
    const std::size_t runs = send_runs_.size();
    const bool few = runs <= most_references;
    bool answered = what.answer.has_value();
    std::size_t found = 0;
    for (; few && found < runs; ++found) {
        const auto where = near_->locate(send_runs_[found]);
        if (!where) break;
        what.lends[found] = *where;
        answered = answered && locates_answer(what, send_runs_[found], *where);
    }
    const bool may_stage = what.answer ? found < runs || !answered : summed && found < runs;
    if (may_stage && stage(what)) answered = what.answer.has_value();
    else if (found == runs && (answered || !what.answer || what.head.payload_bytes >= lent_from))
        what.head.references = static_cast<std::uint8_t>(found);
    what.head.answered = answered && what.head.references > 0;
}

/// Returns whether the peer can write to where the answer to a run belongs: that lies in the same arena, `answer_beyond` bytes further on.
bool lane::locates_answer(const outgoing& what, std::span<const std::byte> run, reference where) noexcept {
    if (what.answer_beyond == 0) return true;
    const auto beyond = static_cast<std::uintptr_t>(what.answer_beyond);
    const auto* const there = reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(run.data()) + beyond);
    const auto found = near_->locate({there, run.size()});
    return found && found->offset == where.offset + beyond;
}

/// Copies a payload into staging buffers, which are lent in its place; `unstage` copies the answer back. Returns false if it cannot. A
/// summed payload then waits (staging_awaited_) while frames that went before it hold the buffers. If one part came through the ring, the
/// receiver would land all of them.
bool lane::stage(outgoing& what) noexcept {
    if (!may_stage_) return false;
    if (!staging_buffers_) {
        const auto memory = near_->spare();
        if (memory.empty()) return false;
        staging_buffers_.emplace(memory);
    }
    staging_buffers_->free_returned(near_->returned());
    const auto bytes_staged = static_cast<std::size_t>(what.head.payload_bytes);
    const staging_buffers::staged_payload* const in = staging_buffers_->take(what.head.sequence, what.answer, bytes_staged);
    staging_awaited_ = !in && !what.answer && staging_buffers_->to_be_returned() && what.head.payload_bytes <= staging_buffers::longest_payload;
    if (!in) return false;
    what.staged = in->parts[0].data();
    copy_runs<const std::byte>(in->where(), send_runs_);
    for (std::size_t index = 0; index < in->count; ++index) what.lends[index] = near_->locate(in->parts[index]).value_or(reference());
    what.head.references = static_cast<std::uint8_t>(in->count);
    return true;
}

void lane::take_returned() noexcept {
    if (!lent_first_ && !staging_awaited_) return;
    returned_ = near_->returned();
    for (const std::uint64_t until = returned_; lent_first_ && lent_first_->number <= until;) {
        outgoing& done = *lent_first_;
        lent_first_ = done.next_in_lane;
        done.sent();
    }
}

void lane::repaid() noexcept {
    const std::lock_guard lock(guard_);
    waiting_returned_ = false;
    if (state_ == state::ended) return;
    if ((lent_first_ || staging_awaited_) && near_->returned() == waited_beyond_) return send_failed(error::peer_died);
    take_returned();
    if (!waiting_writable_) pump_send();
    await_return();
}

/// Waits, once for all lent frames, until the peer gives the next one back.
void lane::await_return() noexcept {
    if ((!lent_first_ && !staging_awaited_) || waiting_returned_) return;
    waiting_returned_ = true;
    waited_beyond_ = returned_;
    near_->when_returned(returned_, repaid_);
}

// ---- receiving

/// Returns the next header: in the buffer, or where the link shows it. Null when it is not all there, or lies in two pieces.
const std::byte* lane::next_header() noexcept {
    if (end_ - begin_ >= frame_bytes) return buffer_.get() + begin_;
    if (!near_ || begin_ != end_) return nullptr;
    std::span<const std::byte> shown;
    const moved there = near_->peek(shown);
    drained_ = there.bytes == 0 && !there.code;
    return shown.size() >= frame_bytes ? shown.data() : nullptr;
}

void lane::look() noexcept {
    if (!near_ || !waiting_readable_ || spread_ || !near_->end_wait()) return;
    waiting_readable_ = false;
    take_returned();
    if (staging_awaited_ && !waiting_writable_) pump_send();
    pump_recv();
}

/// parked -> header, if the owner takes an inline cell with its payload as it came. Returns whether it did.
bool lane::give_cell(std::size_t& budget) noexcept {
    if (!in_cell_ || budget == 0 || head_.references > 0 || head_.in_place) return false;
    state_ = state::header;  // before the call: the owner may stop the lane in it
    const bool taken = owner_.taken(head_, std::span(cell_).first(static_cast<std::size_t>(head_.payload_bytes)));
    if (taken) budget -= std::min(budget, frame_bytes);
    else if (state_ == state::header) state_ = state::parked;
    return taken;
}

/// Takes an inline cell's payload to where the owner wants it. Returns false when the lane has ended.
bool lane::take_cell_payload(std::size_t& budget) noexcept {
    budget -= std::min(budget, frame_bytes);
    const auto payload = std::span<const std::byte>(cell_).first(missing_);
    if (!through_) {
        const std::span<const std::byte> parts[] = {payload};
        copy_runs<const std::byte>(runs_, parts);
    } else if (missing_ > 0) {
        const std::size_t used = outside([&] { return owner_.through(head_, 0, payload, nullptr); });
        if (used != missing_) fail(error::protocol_error);
    }
    missing_ = 0;
    return state_ != state::ended;
}

/// references -> parked, when all references of a frame are there. They must lie in the peer's memory and add up to the payload;
/// anything else ends the lane. Returns whether they are there.
bool lane::take_references() noexcept {
    const std::size_t bytes = reference_bytes(head_);
    std::array<reference, most_references + 1> list{};
    if (in_cell_) {
        std::memcpy(list.data(), cell_.data(), bytes);
    } else {
        if (end_ - begin_ < bytes) return false;
        std::memcpy(list.data(), buffer_.get() + begin_, bytes);
        begin_ += bytes;
    }
    lent_.clear();
    answer_runs_.clear();
    reference_.count = head_.references;
    reference_.index = static_cast<std::uint32_t>(list[head_.references].offset);
    std::copy_n(list.begin(), most_references, reference_.parts.begin());
    for (std::size_t each = 0; head_.answered && each < head_.references; ++each) reference_.parts[each].offset += list[head_.references].bytes;
    std::uint64_t total = 0;
    std::size_t index = 0;
    for (; index < head_.references; ++index) {
        lent_.push_back(near_->borrow(list[index]));
        if (lent_.back().size() != list[index].bytes) break;
        if (head_.answered) answer_runs_.push_back(near_->borrow(reference_.parts[index]));
        if (head_.answered && answer_runs_.back().size() != list[index].bytes) break;
        if (list[index].bytes > head_.payload_bytes - total) break;
        total += list[index].bytes;
    }
    state_ = state::parked;
    if (index == head_.references && total == head_.payload_bytes) return true;
    const std::error_code trouble = near_->trouble();
    fail(trouble ? trouble : error::protocol_error);
    return false;
}

/// If the frame answers a staged payload, frees the staging buffers. If the answer lies there (in_place), copies it to its place first.
/// Returns false when the lane has ended.
bool lane::unstage(std::size_t& budget) noexcept {
    const staging_buffers::staged_payload* const in = head_.kind == frame_kind::data ? staging_buffers_->find(head_.sequence, head_.index) : nullptr;
    if (!in) return true;
    const bool read = in->number > 0 && in->number <= near_->returned();  // else the peer answers a payload that it has not read
    if (!read || in->bytes != head_.payload_bytes) {
        fail(error::protocol_error);
        return false;
    }
    if (head_.in_place) {
        if (past_caches_) copy_runs<std::byte>(runs_, in->where(), copy_past_caches);
        else copy_runs<std::byte>(runs_, in->where());
        budget -= std::min(budget, in->bytes);
    }
    staging_buffers_->free(*in);
    return true;
}

/// Reads a lent payload into runs_, or through the owner; with `back` the owner's results are also written to answer_runs_. Returns false
/// when the owner takes nothing of a part, or the lane has ended.
bool lane::read_lent(bool back) noexcept {
    std::uint64_t offset = 0;
    for (const auto part : lent_) prefetch_pages(part.data(), part.size());
    for (std::size_t run = 0; run < lent_.size(); ++run) {
        for (auto part = lent_[run]; !part.empty();) {
            std::size_t bytes = 0;
            if (through_) {
                bytes = owner_.through(head_, offset, part, back ? answer_runs_[run].data() + (part.data() - lent_[run].data()) : nullptr);
                if (!spread_ && state_ == state::ended) return false;
            } else {
                while (runs_[run_].empty()) ++run_;
                bytes = std::min(part.size(), runs_[run_].size());
                if (past_caches_) copy_past_caches(runs_[run_].data(), part.data(), bytes);
                else std::memcpy(runs_[run_].data(), part.data(), bytes);
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

/// Reads a lent payload, and writes the sum to where the peer wants it in the same pass, unless the peer has revoked that.
bool lane::read_and_answer() noexcept {
    reference_.answered = near_->begin_writing();
    const bool read = read_lent(reference_.answered);
    if (reference_.answered) near_->end_writing();
    return read;
}

/// Reads a lent payload, hands the owner the remote reference for the answer, and gives it back. Returns false when the lane has ended.
bool lane::take_lent(std::size_t& budget) noexcept {
    reference_.answered = false;
    const bool at_once = head_.answered && through_ && owner_.answers(head_, reference_.index);
    const bool read = outside([this, at_once] { return at_once ? read_and_answer() : read_lent(false); });
    if (state_ == state::ended) return false;
    // Revoked memory may have held other bytes already when it was read. Staging buffers do not: their owner writes to them no more.
    const bool kept = std::all_of(reference_.where().begin(), reference_.where().end(), [](const reference& each) { return each.is_of_link(); });
    const bool gone = read && !kept && near_->revoked();
    if (!read || gone) {
        fail(gone ? error::peer_died : error::protocol_error);
        return false;
    }
    if (head_.answered) owner_.lent(head_, reference_);
    budget -= std::min(budget, missing_);
    missing_ = 0;
    near_->give_back();
    return true;
}

/// Lets the owner take `used` bytes of the payload where the link shows them. An element in two pieces is put together in the buffer first.
moved lane::show(std::size_t& used) noexcept {
    const std::uint64_t offset = head_.payload_bytes - missing_;
    if (end_ == 0) {
        std::span<const std::byte> run;
        const moved there = near_->peek(run);
        if (there.bytes == 0) return there;
        used = owner_.through(head_, offset, run.first(std::min({run.size(), missing_, shown_bytes})), nullptr);
        if (used > 0) {
            near_->skip(used);
            return there;
        }
    }
    const std::size_t whole = std::min(missing_, longest_element);
    const std::span<std::byte> parts[] = {std::span(buffer_.get(), buffer_bytes).first(whole).subspan(end_)};
    const moved came = link_->try_recv(parts);
    end_ += came.bytes;
    if (end_ < whole) return came;
    used = owner_.through(head_, offset, std::span(buffer_.get(), buffer_bytes).first(whole), nullptr);
    if (used != whole) used = 0;
    end_ = 0;
    return came;
}

/// Passes what the link shows of the payload on to the owner. Returns false when nothing came, or the lane has ended.
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
