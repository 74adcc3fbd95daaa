#include "transport/lending.hpp"

#include "transport/copy_runs.hpp"

#include <algorithm>

namespace tutti {

static constexpr std::size_t lent_from = 128 * KiB;  // to copy less costs no more than to wait until it is given back
// Lower where lending saves more: the answer is not copied either, or all parts of a sum are read once.
static constexpr std::size_t answered_from = 8 * KiB;

/// A payload is lent in its own memory in at most 4 runs only; with more it counts as not in the arena. By the first line that fits:
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
bool lending::refer(outgoing& what) noexcept {
    awaits_staging_ = false;
    const bool summed = what.summed && !what.answer && !over_.undisturbed();
    const std::size_t from = what.answer || summed ? answered_from : lent_from;
    if (what.head.payload_bytes < from || is_wide(what.head) || (what.soon_written && !what.answer && over_.undisturbed())) return true;
    runs_.clear();
    what.gather(runs_);
    const std::size_t runs = runs_.size();
    const bool few = runs <= most_references;
    bool answered = what.answer.has_value();
    std::size_t found = 0;
    for (; few && found < runs; ++found) {
        const auto where = over_.locate(runs_[found]);
        if (!where) break;
        what.lends[found] = *where;
        answered = answered && locates_answer(what, runs_[found], *where);
    }
    const bool may_stage = what.answer ? found < runs || !answered : summed && found < runs;
    if (may_stage && stage(what)) answered = what.answer.has_value();
    else if (found == runs && (answered || !what.answer || what.head.payload_bytes >= lent_from))
        what.head.references = static_cast<std::uint8_t>(found);
    what.head.answered = answered && what.head.references > 0;
    return !awaits_staging_;
}

/// Returns whether the peer can write to where the answer to a run belongs: that lies in the same arena, `answer_beyond` bytes further on.
bool lending::locates_answer(const outgoing& what, std::span<const std::byte> run, reference where) noexcept {
    if (what.answer_beyond == 0) return true;
    const auto beyond = static_cast<std::uintptr_t>(what.answer_beyond);
    const auto* const there = reinterpret_cast<const std::byte*>(reinterpret_cast<std::uintptr_t>(run.data()) + beyond);
    const auto found = over_.locate({there, run.size()});
    return found && found->offset == where.offset + beyond;
}

/// Copies a payload into staging buffers, which are lent in its place; the answer is copied back from there. Returns false if it cannot. A
/// summed payload then waits while frames that went before it hold the buffers. If one part came through the ring, the receiver would land
/// all of them.
bool lending::stage(outgoing& what) noexcept {
    if (!may_stage_) return false;
    if (!buffers_) {
        const auto memory = over_.spare();
        if (memory.empty()) return false;
        buffers_.emplace(memory);
    }
    buffers_->free_returned(over_.returned());
    const auto bytes = static_cast<std::size_t>(what.head.payload_bytes);
    const staging_buffers::staged_payload* const in = buffers_->take(what.head.sequence, what.answer, bytes);
    awaits_staging_ = !in && !what.answer && buffers_->to_be_returned() && bytes <= staging_buffers::longest_payload;
    if (!in) return false;
    what.staged = in->parts[0].data();
    copy_runs<const std::byte>(in->where(), runs_);
    for (std::size_t index = 0; index < in->count; ++index) what.lends[index] = over_.locate(in->parts[index]).value_or(reference());
    what.head.references = static_cast<std::uint8_t>(in->count);
    return true;
}

std::array<reference, most_references + 1> lending::references_of(const outgoing& what) noexcept {
    std::array<reference, most_references + 1> all{};
    std::copy_n(what.lends.begin(), what.head.references, all.begin());
    if (what.head.answered)
        all[what.head.references] = {what.answer.value_or(0), static_cast<std::uint64_t>(what.staged ? 0 : what.answer_beyond)};
    return all;
}

bool lending::keeps(outgoing& what) noexcept {
    if (what.head.references == 0) return false;
    what.number = ++count_;
    if (what.staged) {  // its own memory is free
        buffers_->sent(what.staged, what.number);
        return false;
    }
    what.next_in_lane = nullptr;
    (first_ ? last_->next_in_lane : first_) = &what;
    last_ = &what;
    return true;
}

void lending::take_returned() noexcept {
    if (!awaits_return()) return;
    returned_ = over_.returned();
    for (const std::uint64_t until = returned_; first_ && first_->number <= until;) {
        outgoing& done = *first_;
        first_ = done.next_in_lane;
        done.sent();  // may lend more, or end the lane
    }
}

void lending::forget() noexcept {
    over_.revoke();  // the owners of lent memory may reuse it from now on
    first_ = last_ = nullptr;
    awaits_staging_ = false;
}

}  // namespace tutti
