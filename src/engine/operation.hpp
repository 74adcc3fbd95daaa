// One operation under way: a program, the memory it works on, and how far each slice of each round has come.
#pragma once

#include <tutti/detail/future_state.hpp>
#include <tutti/event_loop.hpp>

#include "engine/channel.hpp"
#include "engine/kept_request.hpp"
#include "engine/lane_id.hpp"
#include "base/linked_queue.hpp"
#include "engine/operation_memory.hpp"
#include "engine/patience.hpp"
#include "engine/program.hpp"
#include "engine/slice_progress.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tutti {

class engine;
class operation;
namespace detail {
class repeated_call;
}

/// One call of a collective under way. Owns its channels and scratch; shares its program; borrows the user's memory until it ends. Changed
/// with the engine's guard held; a spread lane reduces its own payload without it. The engine begins and ends it, ports count its transfers
/// (`transferred`) and move it on (`advance`). It never sends and never waits: it answers which slice may begin, where that lies, and what
/// becomes of it. It derives from future_state, so one pooled object serves the caller and the engine.
class operation final : public detail::future_state {
public:
    explicit operation(engine& owner) noexcept : owner_(owner) {}

    /// Makes a fresh or recycled object ready for a call.
    void begin(const request& what);
    /// Does the same if the object was this call before, and has its plan and memory still. Returns false, and has changed nothing, if not.
    bool begin_like_before(const request& asking);
    /// Does the same once more, with plan and memory as they are.
    void again();
    /// The next call is laid out anew, even if it is like this one.
    void forget_layout() noexcept { laid_out_ = false; }
    /// Takes the program that the call is to carry out, and lays out its memory.
    void follow(std::shared_ptr<const class program> compiled, const cutting& how);

    std::uint64_t sequence = 0;  // its place in the order
    std::uint64_t issued = 0;    // its number among this rank's collectives by time of call; places may have been reserved before
    std::uint32_t epoch = 0;
    call_signature what;
    kept_request asked;
    time_point started{};
    std::string name() const { return to_string(what); }
    bool ended = false;  // its end is decided; a caller that waits already hears of it on the loop
    std::optional<tutti::failure> failed;
    links<operation> life;  // in one of the engine's lists
    using list = linked_queue<operation, &operation::life>;
    lane_kind lanes = lane_kind::small;     // the kind of lanes on which it travels
    std::size_t vector_bytes = 0;           // of the whole vector, as far as this rank knows it; counts in `admission`
    list* kept_in = nullptr;                // the pool's list to which it returns
    detail::repeated_call* call = nullptr;  // the persistent call that it belongs to

    std::span<send_channel> senders() noexcept { return used_senders_; }
    std::span<recv_channel> receivers() noexcept { return used_receivers_; }
    const class program& program() const noexcept { return *program_; }
    /// Returns the same; null without one.
    const std::shared_ptr<const class program>& shared_program() const noexcept { return program_; }
    const operation_memory& memory() const noexcept { return memory_; }
    std::size_t slices() const noexcept { return memory_.cut().slices; }
    /// Returns the length of its scratch, which holds the plan's scratch blocks, and partial sums, packed lists or a scaled input.
    std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
    /// Gives its scratch away. This operation has been laid out in it, so its next call is laid out anew.
    void give_scratch(operation& to) noexcept;

    /// Returns whether slice `slice` of a transfer of `round` may begin: that slice has ended here in all earlier rounds. Prepares the
    /// input of a slice in the first round.
    bool may_begin(int round, std::size_t slice) noexcept {
        if (round > 0) return progress_.may_begin(round, slice);
        memory_.prepare(slice);
        return true;
    }
    /// Returns the same for a send, which must also be less than `ahead` slices ahead of those that have ended in its round: the window.
    bool may_send(int round, std::size_t slice, std::size_t ahead) noexcept {
        return progress_.inside_window(round, slice, ahead) && may_begin(round, slice);
    }
    /// Returns the same where slices end in any order: early ones make room in the window, too.
    bool may_send_among(int round, std::size_t slice, std::size_t ahead) noexcept {
        return progress_.inside_window_among(round, slice, ahead) && may_begin(round, slice);
    }
    /// Returns the index of the frame that answers this slice of a send, if one does (program::answer_to).
    std::optional<std::uint32_t> answer_of(int step, std::size_t slice) const noexcept {
        return index_of(program_->answer_to(step), slice);
    }
    /// Returns the index of the frame that takes the sum of this slice of a recv_reduce back to its peer, if one does (program::sum_of).
    std::optional<std::uint32_t> sum_of(int step, std::size_t slice) const noexcept { return index_of(program_->sum_of(step), slice); }
    /// Returns whether sent memory is written again while it is in the caches: a later round, or the next operation, puts the sum there.
    bool writes_soon() const noexcept;
    /// Returns whether a payload may be combined part by part. Not for opaque elements: these may be longer than the lane puts together
    /// across the end of a ring.
    bool reduces_at_once(int step) const noexcept { return asked.type != data_type::opaque && program_->reduces_at_once(step); }
    bool reduces(int step) const noexcept { return step_at(step).what == action::recv_reduce; }
    /// Combines a part of a payload, from byte `offset` of the slice on, with this rank's operand. Returns how many bytes: whole elements.
    /// `back`, if not null, takes the result as well, and may be the part's own memory.
    std::size_t reduce(int step, std::size_t slice, std::uint64_t offset, std::span<const std::byte> part,
                       std::byte* back = nullptr) noexcept;
    /// Does the same with `bytes` of each of several peers' parts, in one pass, for a built-in operator; all of `backs` take the result. At
    /// most `most_merged` of each.
    std::size_t reduce(int step, std::size_t slice, std::uint64_t offset, std::size_t bytes, std::span<const std::byte* const> parts,
                       std::span<std::byte* const> backs) noexcept;
    /// Does the same with a whole slice. Returns false when the user's operator threw: then all operations have ended, this one too.
    bool reduce(int step, std::size_t slice, const std::byte* arrived) noexcept;

    /// Takes the whole next slice of a receive as it came in a cell. Returns false, and has done nothing, when `port_receiver::land` must decide.
    bool take(int step, std::span<std::byte> into, std::span<const std::byte> arrived) noexcept;

    /// Returns how many slices of a step's transfer are done.
    std::size_t transferred(int step) const noexcept { return progress_.transferred(step); }
    /// Counts one more.
    void transferred(int step, std::size_t bytes) noexcept {
        progress_.count(step);
        done_bytes_ += bytes;
    }
    /// Notes a slice that is done before slices in front of it. It counts later, by count_early.
    void transferred_early(int step) noexcept { progress_.note_early(step); }
    void count_early(int step, std::size_t slice) noexcept {
        progress_.count_early(step);
        done_bytes_ += memory_.transfer_bytes(step, slice);
    }
    /// Applies the reductions and copies of every slice whose transfers in a round are done, and lets it enter the next round. Returns
    /// whether any slice moved.
    bool advance() noexcept { return progress_.waits() ? false : advance_all(); }
    bool complete() const noexcept { return rounds() == 0 ? memory_.prepared() : progress_.complete(); }
    /// Returns the peers of the first round that has not ended; those of later rounds are not to blame yet.
    std::vector<rank> awaited() const;
    std::uint64_t done_bytes() const noexcept { return done_bytes_; }
    std::uint64_t total_bytes() const noexcept { return program_ ? memory_.total_bytes() : 0; }

    void cancel() noexcept override;
    void abandon() noexcept override;

    /// Fires on the loop at the deadline, and before that whenever it is time to ask the peers, or to tell the user what is waited for.
    void overdue() noexcept;
    detail::alarm<&operation::overdue> deadline{*this};
    class patience patience;

private:
    void recycle() noexcept override;
    void rewind() noexcept;
    std::byte* scratch(std::size_t bytes);
    int rounds() const noexcept { return program_->plan().rounds(); }
    const step& step_at(int index) const noexcept { return program_->plan().steps()[static_cast<std::size_t>(index)]; }
    std::optional<std::uint32_t> index_of(const tutti::program::answer* frame, std::size_t slice) const noexcept;
    bool advance_all() noexcept;
    void apply(int round, std::size_t slice) noexcept;
    void apply_reduction(int index, std::size_t slice) noexcept;
    bool combine_with(int step, std::byte* mine, const std::byte* arrived, std::size_t count) noexcept;
    void apply_copy(int index, std::size_t slice) noexcept;
    void finish_slice(std::size_t slice) noexcept;
    void average(std::size_t slice) noexcept;

    engine& owner_;  // lives as long as a caller holds this: the engine holds itself while operations are out
    std::shared_ptr<const class program> program_;
    operation_memory memory_;
    slice_progress progress_;
    std::vector<send_channel> senders_;
    std::vector<recv_channel> receivers_;
    std::span<send_channel> used_senders_;  // of those, for this plan
    std::span<recv_channel> used_receivers_;
    std::unique_ptr<std::byte[]> scratch_;
    std::size_t scratch_bytes_ = 0;
    std::uint64_t done_bytes_ = 0;
    bool laid_out_ = false;  // memory_ is complete, and belongs to program_
    bool applied_ = false;   // with one slice: the round's only reduction was applied when its payload arrived
};

using operation_list = operation::list;

}  // namespace tutti
