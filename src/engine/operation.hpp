// One operation under way: a program, the memory it works on, and how far each slice of each round has come.
#pragma once

#include <tutti/detail/future_state.hpp>
#include <tutti/event_loop.hpp>

#include "base/layout.hpp"
#include "engine/channel.hpp"
#include "engine/lane_id.hpp"
#include "engine/linked_queue.hpp"
#include "engine/patience.hpp"
#include "engine/program.hpp"
#include "engine/request.hpp"
#include "schedule/answers.hpp"

#include <algorithm>
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

/// Shorter payloads are in the caches, or soon there.
inline constexpr std::size_t prefetched_from = 256 * KiB;

/// How transfers are cut into slices, and how results are written.
struct cutting {
    std::size_t slice_bytes;
    std::size_t segment;           // slices that go through all rounds before the next ones do
    std::size_t past_caches_from;  // bytes of a result from which on it has left the caches before it is read
};

/// Owns its channels, counters and scratch; shares its program; borrows the user's memory until it ends. Changed with the engine's guard
/// held; a spread lane reduces its own payload without it. The engine begins and ends it, ports count its transfers (`transferred`) and
/// move it on (`advance`). It never sends and never waits: it answers which slice may begin, where that lies, and what becomes of it. It
/// derives from future_state, so one pooled object serves the caller and the engine.
///
/// Slice s of a step passes through
///
///     may_begin, may_send --> under way --transferred--> done_[step] > s --all steps of the round--> apply --> ended_[round] > s --> next
///
/// and after the last round finish_slice. With one slice, open_transfers_ counts the open transfers of the one round that is under way.
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
    void plan(std::shared_ptr<const program> plan, rank me, int size, const cutting& how);

    std::uint64_t sequence = 0;  // its place in the order
    std::uint64_t issued = 0;  // its number among this rank's collectives by time of call; places may have been reserved before
    std::uint32_t epoch = 0;
    descriptor what;
    request asked;
    time_point started{};
    std::string name() const { return to_string(what); }
    bool ended = false;  // its end is decided; a caller that waits already hears of it on the loop
    std::optional<tutti::failure> failed;
    links<operation> life;  // in one of the engine's lists
    using list = linked_queue<operation, &operation::life>;
    lane_kind lanes = lane_kind::small;     // the kind of lanes on which it travels
    list* kept_in = nullptr;                // the pool's list to which it returns
    detail::repeated_call* call = nullptr;  // the persistent call that it belongs to

    std::span<send_channel> senders() noexcept { return used_senders_; }
    std::span<recv_channel> receivers() noexcept { return used_receivers_; }
    const program& plan() const noexcept { return *plan_; }
    /// Returns the same; null without one.
    const std::shared_ptr<const program>& shared_plan() const noexcept { return plan_; }
    /// Returns the length of its own memory: the plan's scratch blocks, and partial sums, packed lists or a scaled input.
    std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
    /// Gives that memory away. This operation has been laid out in it, so its next call is laid out anew.
    void give_scratch(operation& to) noexcept;
    std::size_t slices() const noexcept { return cut_.slices; }

    /// Returns whether slice `slice` of a transfer of `round` may begin: that slice has ended here in all earlier rounds. Prepares the
    /// input of a slice in the first round.
    bool may_begin(int round, std::size_t slice) noexcept {
        if (round > 0) return ended_[static_cast<std::size_t>(round) - 1] > slice;
        prepare(slice);
        return true;
    }
    /// Returns the same for a send, which must also be less than `ahead` slices ahead of those that have ended in its round: the window.
    bool may_send(int round, std::size_t slice, std::size_t ahead) noexcept;
    /// Returns the same where slices end in any order: early ones make room in the window, too.
    bool may_send_among(int round, std::size_t slice, std::size_t ahead) noexcept;
    std::size_t transfer_bytes(int step, std::size_t slice) const noexcept;
    /// Returns the index of the frame that answers this slice of a send, if one does (program::answer_to).
    std::optional<std::uint32_t> answer_of(int step, std::size_t slice) const noexcept { return index_of(plan_->answer_to(step), slice); }
    /// Returns the index of the frame that takes the sum of this slice of a recv_reduce back to its peer, if one does (program::sum_of).
    std::optional<std::uint32_t> sum_of(int step, std::size_t slice) const noexcept { return index_of(plan_->sum_of(step), slice); }
    /// Returns whether sent memory is written again while it is in the caches: a later round, or the next operation, puts the sum there.
    bool writes_soon() const noexcept;
    /// Returns whether a step reads this rank's contribution in the input, though its result goes to the output.
    bool from_input(int step) const noexcept { return apart_ && plan_->contributed().read_by(step); }
    /// Returns how far beyond the payload of a send its answer belongs.
    std::ptrdiff_t answer_beyond(int step) const noexcept {
        return from_input(step) ? static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(copied_over_) -
                                                              reinterpret_cast<std::uintptr_t>(contributed_))
                                : 0;
    }
    /// Returns where a step reads its operand for `written`, an address in the output: there, or at the same element of the input.
    const std::byte* read_at(int step, const std::byte* written) const noexcept {
        return from_input(step) ? contributed_ + (written - copied_over_) : written;
    }
    /// Returns the memory of a slice if it is one block in one piece, which short frames need.
    std::optional<std::span<std::byte>> run_of(int step, std::size_t slice) const noexcept {
        const blocks& moved = step_at(step).here;
        const layout& memory = space_of(moved.where);
        if (moved.count != 1 || (memory.scattered && !listed_by_block())) return std::nullopt;
        const part run = memory.slice(moved.first, cut_.slices, slice);
        return std::span(memory.address(run.first), run.count * memory.element_bytes);
    }
    /// Returns whether a step writes its result past the caches: no step reads it soon, and the step has not just read that memory.
    bool past_caches(int step) const noexcept { return past_caches_ && plan_->rests(step) && (!reduces(step) || from_input(step)); }
    /// Appends the runs into which a slice is received.
    void runs_of(int step, std::size_t slice, std::vector<std::span<std::byte>>& into) const;
    /// Appends the runs from which it is sent.
    void runs_of(int step, std::size_t slice, std::vector<std::span<const std::byte>>& into) const;
    /// Requests the pages of a slice that is about to be sent, filled or combined.
    void prefetch(int step, std::size_t slice) const noexcept;
    /// Returns whether a payload may be combined part by part. Not for opaque elements: these may be longer than the lane puts together
    /// across the end of a ring.
    bool reduces_at_once(int step) const noexcept { return asked.type != data_type::opaque && plan_->reduces_at_once(step); }
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

    /// Takes the whole next slice of a receive from an inline cell. Returns false, and has done nothing, when `port_receiver::land` must decide.
    bool take(int step, std::span<std::byte> into, std::span<const std::byte> arrived) noexcept;

    /// Returns how many slices of a step's transfer are done.
    std::size_t transferred(int step) const noexcept { return done_[static_cast<std::size_t>(step)]; }
    /// Counts one more.
    void transferred(int step, std::size_t bytes) noexcept {
        ++done_[static_cast<std::size_t>(step)];
        --open_transfers_;
        done_bytes_ += bytes;
    }
    /// Notes a slice that is done before slices in front of it. It counts later, by count_early.
    void transferred_early(int step) noexcept { ++early_[static_cast<std::size_t>(step)]; }
    void count_early(int step, std::size_t slice) noexcept;
    /// Applies the reductions and copies of every slice whose transfers in a round are done, and lets it enter the next round. Returns
    /// whether any slice moved.
    bool advance() noexcept { return cut_.slices == 1 && open_transfers_ > 0 ? false : advance_all(); }
    /// Returns the peers of the first round that has not ended; those of later rounds are not to blame yet.
    std::vector<rank> awaited() const;
    bool complete() const noexcept { return rounds() == 0 ? prepared_ == cut_.slices : ended_.back() == cut_.slices; }
    std::uint64_t done_bytes() const noexcept { return done_bytes_; }
    std::uint64_t total_bytes() const noexcept;

    void cancel() noexcept override;
    void abandon() noexcept override;

    /// Fires on the loop at the deadline, and before that whenever it is time to ask the peers, or to tell the user what is waited for.
    void overdue() noexcept;
    detail::alarm<&operation::overdue> deadline{*this};
    class patience patience;
    std::size_t vector_bytes = 0;  // of the whole vector, as far as this rank knows it; counts in `admission`

private:
    void recycle() noexcept override;
    void rewind();
    void place_memory();
    layout one_space(bool whole, std::byte* data, int blocks, std::span<const std::size_t> counts, std::vector<std::size_t>& starts) const;
    void place_list(layout& output);
    /// Returns whether each block of a list is one buffer; the list of an all_reduce is cut without regard to its buffers.
    bool listed_by_block() const noexcept { return asked.kind != collective::all_reduce; }
    void place_input_copy() noexcept;
    void place_own_part() noexcept;
    /// Returns where an element of the caller's input is; null when there is no input.
    const std::byte* given(std::size_t element) const noexcept {
        if (!asked.input) return input_listed_.at(element, asked.element_bytes());
        return static_cast<const std::byte*>(asked.input) + element * asked.element_bytes();
    }
    std::byte* scratch(std::size_t bytes);
    bool scales() const noexcept { return asked.op.kind() == reduce_op::premul; }
    int rounds() const noexcept { return plan_->plan().rounds(); }
    const step& step_at(int index) const noexcept { return plan_->plan().steps()[static_cast<std::size_t>(index)]; }
    std::optional<std::uint32_t> index_of(const program::answer* frame, std::size_t slice) const noexcept;
    const layout& space_of(space where) const noexcept { return spaces_[static_cast<std::size_t>(where)]; }
    template <class Append>
    void each_run(const blocks& what, std::size_t slice, Append append) const;
    bool advance_all() noexcept;
    bool advance_whole() noexcept;
    void prepare(std::size_t slice) noexcept {
        if (prepared_ <= slice) prepare_up_to(slice);
    }
    void prepare_up_to(std::size_t slice) noexcept;
    bool transfers_done(int round, std::size_t slice) const noexcept;
    void apply(int round, std::size_t slice) noexcept;
    void apply_reduction(int index, std::size_t slice) noexcept;
    /// Calls `use(mine, at, elements)` for each run of a slice from byte `offset` on, at most `bytes` long; `at` counts bytes from
    /// `offset`.
    template <class Use>
    std::size_t along(int step, std::size_t slice, std::uint64_t offset, std::size_t bytes, Use&& use) const noexcept;
    bool combine_with(int step, std::byte* mine, const std::byte* arrived, std::size_t count) noexcept;
    void apply_copy(int index, std::size_t slice) noexcept;
    void finish_slice(std::size_t slice) noexcept;
    void average(std::size_t slice) noexcept;
    void pack(part which) noexcept;
    void unpack(part which) noexcept;

    engine& owner_;  // lives as long as a caller holds this: the engine holds itself while operations are out
    std::shared_ptr<const program> plan_;
    bool laid_out_ = false;  // the memory below is complete, and belongs to plan_
    rank me_ = 0;
    int size_ = 1;
    layout spaces_[3];                       // by `space`
    std::vector<buffer> list_;               // of the request
    std::vector<buffer> input_list_;         // of the request
    std::vector<std::size_t> counts_;        // of the request
    std::vector<std::size_t> recv_counts_;   // of the request
    std::vector<std::size_t> input_starts_;  // of blocks of given sizes
    std::vector<std::size_t> output_starts_;
    pieces listed_;        // where the elements of list_ are
    pieces input_listed_;  // and those of input_list_
    bool packed_ = false;  // list_ is copied to scratch and back, slice by slice
    std::unique_ptr<std::byte[]> scratch_;
    std::size_t scratch_bytes_ = 0;
    bool past_caches_ = false;       // the result is long enough for that
    slice_counts cut_;
    std::size_t prepared_ = 0;         // slices of the input that have been copied, or scaled, to where the plan takes them:
    space copied_to_ = space::output;  // blocks of this space
    int copied_first_ = 0;
    int copied_count_ = 0;
    const std::byte* copied_from_ = nullptr;
    const std::byte* contributed_ = nullptr;  // this rank's contribution in the input; of a reduce_scatter its own part, perhaps scaled
    const std::byte* copied_over_ = nullptr;  // where in the output that belongs
    bool apart_ = false;                 // only blocks that must stand in the output are copied there: steps read the rest in the input
    int first_open_ = 0;                 // rounds before it have ended for all slices
    int open_transfers_ = 0;             // with one slice: transfers of round first_open_ that are not done
    bool applied_ = false;               // with one slice: the round's only reduction was applied when its payload arrived
    std::vector<std::size_t> progress_;  // memory of the next three
    std::span<std::size_t> done_;        // per step: slices transferred
    std::span<std::size_t> early_;       // per step: slices transferred before their turn
    std::span<std::size_t> ended_;       // per round: slices ended
    std::vector<send_channel> senders_;
    std::vector<recv_channel> receivers_;
    std::span<send_channel> used_senders_;  // of those, for this plan
    std::span<recv_channel> used_receivers_;
    std::uint64_t done_bytes_ = 0;
};

using operation_list = operation::list;

}  // namespace tutti
