// The memory of an operation: the caller's, and scratch.
#pragma once

#include "base/layout.hpp"
#include "engine/cursor.hpp"
#include "engine/program.hpp"
#include "engine/request.hpp"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tutti {

/// How transfers are cut into slices, and how results are written.
struct cutting {
    std::size_t slice_bytes;
    std::size_t segment;           // slices that go through all rounds before the next ones do
    std::size_t past_caches_from;  // bytes of a result from which on it has left the caches before it is read
};

/// Shorter payloads are in the caches, or soon there.
inline constexpr std::size_t prefetched_from = 256 * KiB;

/// Says where the blocks and slices of a call lie, and copies or scales this rank's input to where the plan takes it. Borrows the caller's
/// memory, and scratch of the operation.
class operation_memory {
public:
    /// Lays out a call, which lives as long as this is used. `scratch` gives so many bytes.
    void place(const request& asked, const program& plan, rank me, int size, const cutting& how,
               const std::function<std::byte*(std::size_t bytes)>& scratch);
    /// Begins again in the same memory: the input is to be copied or scaled again.
    void rewind() noexcept { prepared_ = copied_count_ > 0 ? 0 : cut_.slices; }

    const slice_counts& cut() const noexcept { return cut_; }
    const layout& space_of(space where) const noexcept { return spaces_[static_cast<std::size_t>(where)]; }
    std::size_t transfer_bytes(int step, std::size_t slice) const noexcept;
    std::uint64_t total_bytes() const noexcept;

    /// Returns the memory of a slice if it is one block in one piece, which short frames need.
    std::optional<std::span<std::byte>> run_of(int step, std::size_t slice) const noexcept {
        const blocks& moved = step_at(step).here;
        const layout& memory = space_of(moved.where);
        if (moved.count != 1 || (memory.scattered && !listed_by_block())) return std::nullopt;
        const part run = memory.slice(moved.first, cut_.slices, slice);
        return std::span(memory.address(run.first), run.count * memory.element_bytes);
    }
    /// Appends the runs into which a slice is received.
    void runs_of(int step, std::size_t slice, std::vector<std::span<std::byte>>& into) const;
    /// Appends the runs from which it is sent.
    void runs_of(int step, std::size_t slice, std::vector<std::span<const std::byte>>& into) const;
    /// Calls `use(mine, at, elements)` for each run of a slice from byte `offset` on, at most `bytes` long; `at` counts bytes from
    /// `offset`. Returns how many bytes: whole elements.
    template <class Use>
    std::size_t along(int step, std::size_t slice, std::uint64_t offset, std::size_t bytes, Use&& use) const noexcept;
    /// Requests the pages of a slice that is about to be sent, filled or combined.
    void prefetch(int step, std::size_t slice) const noexcept;

    /// Returns whether a step reads this rank's contribution in the input, though its result goes to the output.
    bool from_input(int step) const noexcept { return apart_ && plan_->contributed().read_by(step); }
    /// Returns where a step reads its operand for `written`, an address in the output: there, or at the same element of the input.
    const std::byte* read_at(int step, const std::byte* written) const noexcept {
        return from_input(step) ? contributed_ + (written - copied_over_) : written;
    }
    /// Returns how far beyond the payload of a send its answer belongs.
    std::ptrdiff_t answer_beyond(int step) const noexcept {
        return from_input(step) ? static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(copied_over_) -
                                                              reinterpret_cast<std::uintptr_t>(contributed_))
                                : 0;
    }
    /// Returns whether a step writes its result past the caches: no step reads it soon, and the step has not just read that memory.
    bool past_caches(int step) const noexcept {
        return past_caches_ && plan_->rests(step) && (step_at(step).what != action::recv_reduce || from_input(step));
    }

    /// Copies or scales the input of all slices up to this one, before it begins.
    void prepare(std::size_t slice) noexcept {
        if (prepared_ <= slice) prepare_up_to(slice);
    }
    bool prepared() const noexcept { return prepared_ == cut_.slices; }
    /// Copies a slice of the output back to the buffers of a list, if it was packed.
    void unpack(std::size_t slice) noexcept;

private:
    layout one_space(bool whole, std::byte* data, int blocks, std::span<const std::size_t> counts, std::vector<std::size_t>& starts) const;
    void place_spaces(const std::function<std::byte*(std::size_t bytes)>& scratch);
    void place_list(layout& output);
    void place_input_copy() noexcept;
    void place_own_part() noexcept;
    void cut_alike(const cutting& how) noexcept;
    bool scales() const noexcept { return asked_->op.kind() == reduce_op::premul; }
    /// Returns whether each block of a list is one buffer; the list of an all_reduce is cut without regard to its buffers.
    bool listed_by_block() const noexcept { return asked_->kind != collective::all_reduce; }
    /// Returns where an element of the caller's input is; null when there is no input.
    const std::byte* given(std::size_t element) const noexcept {
        if (!asked_->input) return input_listed_.at(element, asked_->element_bytes());
        return static_cast<const std::byte*>(asked_->input) + element * asked_->element_bytes();
    }
    const step& step_at(int index) const noexcept { return plan_->plan().steps()[static_cast<std::size_t>(index)]; }
    template <class Append>
    void each_run(const blocks& what, std::size_t slice, Append append) const;
    void prepare_up_to(std::size_t slice) noexcept;
    void pack(part which) noexcept;

    const request* asked_ = nullptr;
    const program* plan_ = nullptr;
    rank me_ = 0;
    int size_ = 1;
    slice_counts cut_;
    layout spaces_[3];                       // by `space`
    std::vector<std::size_t> input_starts_;  // of blocks of given sizes
    std::vector<std::size_t> output_starts_;
    pieces listed_;                    // where the elements of the list are
    pieces input_listed_;              // and those of the input's list
    bool packed_ = false;              // the list is copied to scratch and back, slice by slice
    bool past_caches_ = false;         // the result is long enough for that
    bool apart_ = false;               // only blocks that must stand in the output are copied there: steps read the rest in the input
    std::size_t prepared_ = 0;         // slices of the input that have been copied, or scaled, to where the plan takes them:
    space copied_to_ = space::output;  // blocks of this space
    int copied_first_ = 0;
    int copied_count_ = 0;
    const std::byte* copied_from_ = nullptr;
    const std::byte* contributed_ = nullptr;  // this rank's contribution in the input; of a reduce_scatter its own part, perhaps scaled
    const std::byte* copied_over_ = nullptr;  // where in the output that belongs
};

template <class Use>
std::size_t operation_memory::along(int index, std::size_t slice, std::uint64_t offset, std::size_t bytes, Use&& use) const noexcept {
    const blocks& moved = step_at(index).here;
    const layout& memory = space_of(moved.where);
    const std::size_t element = memory.element_bytes;
    std::size_t at = static_cast<std::size_t>(offset), used = 0;
    for (int block = moved.first; block < moved.first + moved.count; ++block) {
        const part which = memory.slice(block, cut_.slices, slice);
        if (at >= which.count * element) {
            at -= which.count * element;
            continue;
        }
        const std::size_t first = at / element, count = std::min(which.count - first, (bytes - used) / element);
        memory.each_run({which.first + first, count}, [&](std::byte* mine, std::size_t elements) {
            use(mine, used, elements);
            used += elements * element;
        });
        at = 0;
        if (first + count < which.count) break;
    }
    return used;
}

}  // namespace tutti
