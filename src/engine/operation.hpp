// One operation under way: a program, the memory it works on, and how far each slice of each round has come.
#pragma once

#include <tutti/detail/future_state.hpp>
#include <tutti/event_loop.hpp>

#include "base/layout.hpp"
#include "engine/cursor.hpp"
#include "engine/lane_id.hpp"
#include "engine/program.hpp"
#include "engine/request.hpp"
#include "schedule/answers.hpp"
#include "transport/lane.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tutti {

class engine;
class operation;
class port;
struct operation_list;
namespace detail {
class repeated_call;
}

/// How much of a way is done: everything before `at`, which is frame number `place`.
class transfer_progress {
public:
    void begin(operation& of, const program::channel& way) noexcept;
    void advance() noexcept { at.next(), ++index; }

    cursor at;
    std::uint32_t index = 0;
    std::vector<std::uint32_t> early;  // places beyond it that are done too, where lanes share the frames: a heap, the smallest first
    port* over = nullptr;

protected:
    ~transfer_progress() = default;
};

class send_channel final : public transfer_progress, public outgoing {
public:
    cursor next_at;  // where lanes share the frames: the first that no lane has been given
    std::uint32_t next_place = 0;
    send_channel* next = nullptr;  // in the port's queue
    bool queued = false;           // with one lane: a frame of it is with the lane
    std::vector<remote_reference> references;       // where the peer wants frames that are still to be sent

    /// Where it wants this frame; without parts it has not said so.
    remote_reference take_reference(std::uint32_t frame) noexcept;
    void gather(std::vector<std::span<const std::byte>>& runs) const override;
    void sent() noexcept override;
};

class recv_channel final : public transfer_progress {
public:
    recv_channel* next = nullptr;
};

/// How transfers are cut into what travels at once, and where they go.
struct cutting {
    std::size_t slice_bytes;
    std::size_t segment;       // slices that go through all rounds before the next ones do
    std::size_t packet_bytes;  // of which what is near-equal is a multiple, where it can be; 0: of nothing
    std::size_t past_caches_from;  // results of so many bytes have left the caches when somebody reads them
};

/// Changed with the engine's guard held. Derives from future_state, so one pooled object serves the caller and the engine.
class operation final : public detail::future_state {
public:
    explicit operation(engine& owner) noexcept : owner_(owner) {}

    /// Makes a fresh or recycled object ready.
    void begin(const request& what);
    /// The same if it was this call before, and has its plan and memory still. False if not, and nothing has changed.
    bool begin_like_before(const request& asking);
    /// The same once more, with plan and memory as they are.
    void again();
    void plan(std::shared_ptr<const program> plan, rank me, int size, const cutting& how);

    /// Gives it its place in the order. Every second one goes through its memory from the end, where the one before has just been.
    void take_place(std::uint64_t reserved) noexcept {
        sequence = reserved;
        for (layout& each : spaces_) each.backward = reserved % 2 == 0;
    }

    std::uint64_t sequence = 0;
    std::uint64_t issued = 0;  // its number among this rank's collectives, in the order of the calls, not of their places
    std::uint32_t epoch = 0;
    descriptor what;
    request asked;
    time_point started{};
    std::string name() const { return to_string(what); }
    bool ended = false;  // its end is decided; the caller, if it waits already, hears of it on the loop
    std::optional<tutti::failure> failed;
    operation* next = nullptr;  // in one of the engine's lists
    operation* previous = nullptr;
    lane_kind lanes = lane_kind::small;     // that it travels on
    operation_list* kept_in = nullptr;         // where it waits for the next call
    detail::repeated_call* call = nullptr;  // that it belongs to

    std::span<send_channel> senders() noexcept { return used_senders_; }
    std::span<recv_channel> receivers() noexcept { return used_receivers_; }
    const program& plan() const noexcept { return *plan_; }
    std::size_t slices() const noexcept { return slices_; }
    /// So many slices go through all rounds before the next ones do.
    std::size_t segment() const noexcept { return segment_; }

    /// Whether slice `slice` of a transfer of `round` may begin: slice by slice, all earlier rounds have ended here.
    bool may_begin(int round, std::size_t slice) noexcept {
        if (round > 0) return ended_[static_cast<std::size_t>(round) - 1] > slice;
        prepare(slice);
        return true;
    }
    /// The same for a send, which is also not more than `ahead` slices ahead of what has ended in its round.
    bool may_send(int round, std::size_t slice, std::size_t ahead) noexcept;
    /// The same where slices end in any order: what has ended counts, wherever it is.
    bool may_send_among(int round, std::size_t slice, std::size_t ahead) noexcept;
    std::size_t transfer_bytes(int step, std::size_t slice) const noexcept;
    /// The place of the frame that brings what belongs where this slice of a send lies, if one does and nobody needs that memory until then.
    std::optional<std::uint32_t> answer_of(int step, std::size_t slice) const noexcept { return index_of(plan_->answer_to(step), slice); }
    /// The place of the frame that takes to its peer what becomes of this slice of a recv_reduce, if nothing more is to come to that.
    std::optional<std::uint32_t> sum_of(int step, std::size_t slice) const noexcept { return index_of(plan_->sum_of(step), slice); }
    /// Whether memory that is sent is written again before it has left the caches: a later round, or the next operation, puts the sum there.
    bool writes_soon() const noexcept;
    /// Whether a step takes what this rank contributes from the input, while its result goes to the output.
    bool from_input(int step) const noexcept { return apart_ && plan_->contributed().read_by(step); }
    /// So many bytes beyond what a send takes lies what answers it.
    std::ptrdiff_t answer_beyond(int step) const noexcept {
        return from_input(step) ? static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(copied_over_) -
                                                              reinterpret_cast<std::uintptr_t>(contributed_))
                                : 0;
    }
    /// Where a step reads what it writes, or else would read, at `place` of the output.
    const std::byte* read_at(int step, const std::byte* written) const noexcept {
        return from_input(step) ? contributed_ + (written - copied_over_) : written;
    }
    /// The memory of a slice where that is known to lie in one place.
    std::optional<std::span<std::byte>> run_of(int step, std::size_t slice) const noexcept {
        const blocks& moved = step_at(step).here;
        const layout& memory = space_of(moved.where);
        if (moved.count != 1 || (memory.scattered && !listed_by_block())) return std::nullopt;
        const part run = memory.slice(moved.first, slices_, slice);
        return std::span(memory.address(run.first), run.count * memory.element_bytes);
    }
    /// Whether what a step writes is not read before it has left the caches, and is not where the step itself has read.
    bool past_caches(int step) const noexcept { return past_caches_ && plan_->rests(step) && (!reduces(step) || from_input(step)); }
    void runs_of(int step, std::size_t slice, std::vector<std::span<std::byte>>& into) const;
    /// Of a send.
    void runs_of(int step, std::size_t slice, std::vector<std::span<const std::byte>>& into) const;
    /// Memory of a slice that is about to be sent, or filled, or combined with what arrives.
    void prefetch(int step, std::size_t slice) const noexcept;
    /// Whether what arrives may be combined before all of the slice is there. Elements of any size may lie across the end of a ring.
    bool reduces_at_once(int step) const noexcept { return asked.type != data_type::opaque && plan_->reduces_at_once(step); }
    bool reduces(int step) const noexcept { return step_at(step).what == action::recv_reduce; }
    /// Combines a part of a slice of a recv_reduce, from byte `offset` of it on, with what stands here. Says how many bytes: whole elements.
    /// `back`, if not null, takes the result as well, and may be where the part is.
    std::size_t reduce(int step, std::size_t slice, std::uint64_t offset, std::span<const std::byte> part,
                       std::byte* back = nullptr) noexcept;
    /// The same with `bytes` of each of several parts, one after the other, for a built-in operator; all of `backs` take the result.
    /// At most `most_merged` of each.
    std::size_t reduce(int step, std::size_t slice, std::uint64_t offset, std::size_t bytes, std::span<const std::byte* const> parts,
                       std::span<std::byte* const> backs) noexcept;
    /// The same with all of the slice. False when the user's operator threw: then everything has ended, this operation too.
    bool reduce(int step, std::size_t slice, const std::byte* arrived) noexcept;

    /// Takes all of the next slice of a receive from where it has arrived. False when it is to be kept elsewhere until its round ends.
    bool take(int step, std::span<std::byte> into, std::span<const std::byte> arrived) noexcept;

    /// Slices of a step's transfer that are done.
    std::size_t transferred(int step) const noexcept { return done_[static_cast<std::size_t>(step)]; }
    /// One more slice of a step's transfer is done.
    void transferred(int step, std::size_t bytes) noexcept {
        ++done_[static_cast<std::size_t>(step)];
        --open_transfers_;
        done_bytes_ += bytes;
    }
    /// A slice is, and slices before it are not. It counts later.
    void transferred_early(int step) noexcept { ++early_[static_cast<std::size_t>(step)]; }
    void count_early(int step, std::size_t slice) noexcept;
    /// Ends what can be ended: applies reductions and copies of slices all of whose transfers are done. Whether anything ended.
    bool advance() noexcept { return slices_ == 1 && open_transfers_ > 0 ? false : advance_all(); }
    bool complete() const noexcept { return rounds() == 0 ? prepared_ == slices_ : ended_.back() == slices_; }
    std::uint64_t done_bytes() const noexcept { return done_bytes_; }
    std::uint64_t total_bytes() const noexcept;

    void cancel() noexcept override;
    void abandon() noexcept override;

    /// Fires on the loop when the operation has taken too long, or so long that it asks whether the others wait in the same one.
    void overdue() noexcept;
    detail::alarm<&operation::overdue> deadline{*this};
    duration patience{};    // from the call until it asks next
    duration warning{};     // from the call until people hear of it; 0: never
    std::size_t share = 0;  // of what may be under way, for `admission`

private:
    friend class engine;

    void recycle() noexcept override;
    void rewind();
    void place_memory();
    layout one_space(bool whole, std::byte* data, int blocks, std::span<const std::size_t> counts, std::vector<std::size_t>& starts) const;
    void place_list(layout& output);
    /// Whether a block of a list lies in one place.
    bool listed_by_block() const noexcept { return asked.kind != collective::all_reduce; }
    void place_input_copy() noexcept;
    void place_own_part() noexcept;
    /// Where an element of the caller's input is; null when there is no input.
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
    /// `use(mine, at, elements)` for each run of what stands from byte `offset` of a slice on, `at` bytes of at most `bytes` later.
    template <class Use>
    std::size_t along(int step, std::size_t slice, std::uint64_t offset, std::size_t bytes, Use&& use) const noexcept;
    bool combine_with(int step, std::byte* mine, const std::byte* arrived, std::size_t count) noexcept;
    void apply_copy(int index, std::size_t slice) noexcept;
    void finish_slice(std::size_t slice) noexcept;
    void average(std::size_t slice) noexcept;
    void pack(part which) noexcept;
    void unpack(part which) noexcept;

    engine& owner_;  // lives as long as somebody holds this
    std::shared_ptr<const program> plan_;
    bool laid_out_ = false;  // by it, wholly
    rank me_ = 0;
    int size_ = 1;
    std::size_t grain_ = 0;
    layout spaces_[3];
    std::vector<buffer> list_;               // of the request
    std::vector<buffer> input_list_;         // of the request
    std::vector<std::size_t> counts_;        // of the request
    std::vector<std::size_t> recv_counts_;   // of the request
    std::vector<std::size_t> input_starts_;  // of blocks of given sizes
    std::vector<std::size_t> output_starts_;
    pieces listed_;        // where the list's elements are
    pieces input_listed_;  // and those of the input's
    bool packed_ = false;  // they are copied to the output and back
    std::unique_ptr<std::byte[]> scratch_;
    std::size_t scratch_bytes_ = 0;  // the plan's scratch blocks, and partial sums, packed lists or a scaled input
    bool past_caches_ = false;
    std::size_t slices_ = 1;
    std::size_t segment_ = 1;
    std::size_t prepared_ = 0;         // slices of the input copied (of a premul, scaled) to where the plan takes them
    space copied_to_ = space::output;  // into these blocks of it
    int copied_first_ = 0;
    int copied_count_ = 0;
    const std::byte* copied_from_ = nullptr;
    const std::byte* contributed_ = nullptr;  // what stands there, or of a reduce_scatter its own part, scaled where that has to be
    const std::byte* copied_over_ = nullptr;  // where in the output that belongs
    bool apart_ = false;                 // of these blocks no more is copied than must stand in the output: steps read the rest where it is
    int first_open_ = 0;                 // rounds before it have ended for all slices
    int open_transfers_ = 0;             // in that round, where there is one slice
    bool applied_ = false;               // the same: what is to be applied at the round's end has been
    std::vector<std::size_t> progress_;  // in which the next three lie
    std::span<std::size_t> done_;        // per step: slices transferred
    std::span<std::size_t> early_;       // per step: slices transferred before their turn
    std::span<std::size_t> ended_;       // per round: slices ended
    std::vector<send_channel> senders_;
    std::vector<recv_channel> receivers_;
    std::span<send_channel> used_senders_;  // of those, by this plan
    std::span<recv_channel> used_receivers_;
    std::uint64_t done_bytes_ = 0;
};

inline int cursor::step() const noexcept {
    return of_->plan().step_order()[static_cast<std::size_t>(way_->groups[group_].first + inside_)];
}

inline void cursor::next() noexcept {
    if (++inside_ < way_->groups[group_].count) return;
    inside_ = 0;
    if (++slice_ == segment_end()) end_group();
}

inline std::size_t cursor::segment_end() const noexcept { return std::min(of_->slices() - segment_, of_->segment()) + segment_; }

}  // namespace tutti
