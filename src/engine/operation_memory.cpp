#include "engine/operation_memory.hpp"

#include "base/past_caches.hpp"
#include "base/prefetch.hpp"
#include "reduce/kernel.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {

// ---- layout

void operation_memory::place(const request& asked, const program& plan, rank me, int size, const cutting& how,
                             const std::function<std::byte*(std::size_t bytes)>& scratch) {
    asked_ = &asked;
    plan_ = &plan;
    me_ = me;
    size_ = size;
    place_spaces(scratch);
    cut_alike(how);
}

/// Cuts transfers into slices, on all ranks alike, and decides whether the result is written past the caches.
void operation_memory::cut_alike(const cutting& how) noexcept {
    std::size_t longest = 0;
    for (const layout& each : spaces_) longest = std::max(longest, each.longest() * each.element_bytes);
    const std::size_t elements = longest / std::max<std::size_t>(asked_->element_bytes(), 1);
    longest *= static_cast<std::size_t>(plan_->largest_transfer());
    // With given sizes the longest transfer is not largest_transfer() times the longest block, if that is one among many short ones.
    if (has_counts(asked_->kind)) longest = std::min(longest, asked_->count * asked_->element_bytes());
    cut_.slices = std::clamp<std::size_t>((longest + how.slice_bytes - 1) / how.slice_bytes, 1, std::max<std::size_t>(elements, 1));
    cut_.segment = how.segment;
    // Not past the caches: averages, which are read again to be divided, and sums in place, whose lines have just been read.
    const layout& output = space_of(space::output);
    past_caches_ = output.count * asked_->element_bytes() >= how.past_caches_from &&
                   (!tutti::reduces(asked_->kind) || (apart_ && !scales() && asked_->op.kind() != reduce_op::avg));
    // An all_gather must have its contribution in the output as well. It is copied there at first and sent from there, except past the
    // caches.
    apart_ = apart_ && (tutti::reduces(asked_->kind) || past_caches_);
    // No rank knows the longest block of all, so ranks could not cut alike. Such plans forward nothing, so slices would gain nothing.
    if (asked_->own_counts()) cut_.slices = 1;
}

/// Lays out one space. `whole`: it holds a block for each rank, else only this rank's.
layout operation_memory::one_space(bool whole, std::byte* data, int blocks, std::span<const std::size_t> counts,
                                   std::vector<std::size_t>& starts) const {
    const std::size_t element = asked_->element_bytes();
    if (counts.empty()) return {data, asked_->count * (whole ? static_cast<std::size_t>(size_) : 1), element, blocks};
    if (!whole) return {data, counts[static_cast<std::size_t>(me_)], element, blocks};
    starts.assign(1, 0);
    for (const std::size_t count : counts) starts.push_back(starts.back() + count);
    return {data, starts.back(), element, blocks, starts.data()};
}

void operation_memory::place_spaces(const std::function<std::byte*(std::size_t bytes)>& scratch) {
    const shape& shape = plan_->plan().spaces();
    auto* in = static_cast<std::byte*>(const_cast<void*>(asked_->input));  // no plan writes to its input: the verifier sees to that
    auto* out = static_cast<std::byte*>(asked_->output);
    const auto received = asked_->kind == collective::all_to_all_v ? asked_->recv_counts : asked_->counts;
    layout& input = spaces_[static_cast<int>(space::input)] =
        one_space(spreads(asked_->kind), in, shape.input, asked_->counts, input_starts_);
    layout& output = spaces_[static_cast<int>(space::output)] =
        one_space(collects(asked_->kind), out, shape.output, received, output_starts_);
    const std::size_t element = asked_->element_bytes();
    const bool like_input = shape.scratch > 0 && has_counts(asked_->kind);
    const std::size_t blocks =
        like_input ? input.count : std::max(input.longest(), output.longest()) * static_cast<std::size_t>(shape.scratch);
    place_list(output);
    input_listed_.clear();
    for (const buffer& each : asked_->input_list) input_listed_.add(static_cast<std::byte*>(each.data), each.count, element);
    if (input_listed_.size() > 0) input.scattered = &input_listed_;
    // A rank that is not the root of a reduce has no output: its partial sums go to scratch, or nowhere if it only sends.
    // A scaled input goes to scratch where the plan reads the input, or this rank has no output.
    const bool no_output = asked_->kind == collective::reduce && out == nullptr && in != nullptr;
    const bool needs_copy = packed_ || (no_output && (plan_->writes_output() || scales()));
    const bool scales_input = scales() && input.blocks > 0;
    const std::size_t own_blocks = blocks + (needs_copy ? asked_->count : 0);
    std::byte* own = scratch((own_blocks + (scales_input ? input.count : 0)) * element);
    spaces_[static_cast<int>(space::scratch)] = {own, blocks, element, shape.scratch, like_input ? input.starts : nullptr};
    if (scales_input) {
        input.data = own + own_blocks * element;
        input.scattered = nullptr;
    }
    if (needs_copy) output.data = own + blocks * element;
    else if (no_output) output.data = in;
    place_input_copy();
}

/// Cuts a list into blocks and slices like one vector; its elements stay where they are. Only very small pieces are packed: to copy them,
/// slice by slice, is cheaper than to name each one to the system. Where each block is one buffer, a transfer has few pieces anyway.
void operation_memory::place_list(layout& output) {
    constexpr std::size_t small_piece_bytes = 1 * KiB;
    listed_.clear();
    for (const buffer& each : asked_->list) listed_.add(static_cast<std::byte*>(each.data), each.count, output.element_bytes);
    packed_ = !listed_by_block() && output.blocks > 0 && listed_.size() > 1 &&
              output.count * output.element_bytes / listed_.size() < small_piece_bytes;
    if (listed_.size() > 0 && !packed_) output.scattered = &listed_;
}

/// For plans that expect this rank's contribution in the output: decides which part of the input is copied there first, and which is read
/// in the input:
///
///     packed, or scaled in a list             all blocks: to scratch, or scaled where they lie
///     input is output, nothing to scale       nothing
///     all_gather                              this rank's block
///     all_reduce, reduce, scans               scaled: all blocks; else those that some step needs in the output (contribution::stays)
///     reduce_scatter                          see place_own_part
void operation_memory::place_input_copy() noexcept {
    copied_count_ = 0;
    copied_to_ = space::output;
    apart_ = false;
    const layout& output = space_of(space::output);
    contributed_ = copied_from_ = given(0);
    if (packed_ || (output.scattered && scales())) {
        copied_first_ = 0;
        copied_count_ = output.blocks;
        return;
    }
    if (!copied_from_ && scales()) copied_from_ = output.data;
    if (!copied_from_ || asked_->count == 0) return;
    if (asked_->kind == collective::all_gather || asked_->kind == collective::all_gather_v) {
        copied_first_ = me_;
        copied_over_ = output.address(output.block(me_).first);
        apart_ = copied_from_ != copied_over_;
        copied_count_ = apart_ ? 1 : 0;
    } else if (tutti::reduces(asked_->kind) && !spreads(asked_->kind)) {
        copied_first_ = 0;
        copied_over_ = output.data;
        apart_ = copied_from_ != copied_over_ && !scales();
        copied_count_ = scales() || (apart_ && plan_->contributed().stays()) ? output.blocks : 0;
    } else if (tutti::reduces(asked_->kind)) {
        place_own_part();
    }
}

/// Does the same for a reduce_scatter, whose own part belongs in the output. If the plan needs it there, only that part is copied or
/// scaled; otherwise a scaled input is scaled as a whole.
void operation_memory::place_own_part() noexcept {
    const layout& input = space_of(space::input);
    const std::size_t before = input.block(me_).first;
    const bool alone = plan_->contributed().stays();
    copied_first_ = 0;
    copied_over_ = space_of(space::output).data;
    contributed_ = input.address(before);
    apart_ = contributed_ != copied_over_;
    if (alone) {
        copied_from_ = given(before);
        copied_count_ = apart_ || scales() ? 1 : 0;
    } else if (scales()) {
        copied_to_ = space::input;
        copied_count_ = input.blocks;
    }
}

void operation_memory::prepare_up_to(std::size_t slice) noexcept {
    for (; prepared_ <= slice; ++prepared_) {
        const layout& target = space_of(copied_to_);
        const std::size_t origin = target.block(copied_first_).first;
        for (int index = copied_first_; index < copied_first_ + copied_count_; ++index) {
            if (apart_ && copied_to_ == space::output && !plan_->contributed().stays(index)) continue;
            const part one = target.slice(index, cut_.slices, prepared_);
            if (packed_) pack(one);
            if (packed_ || (target.scattered && scales())) {
                if (scales())
                    target.each_run(one,
                                    [&](std::byte* run, std::size_t count) { scale(asked_->type, run, run, count, asked_->op.factor()); });
                continue;
            }
            std::byte* const to = target.address(one.first);
            const std::byte* from =
                copied_to_ == space::input ? given(one.first) : copied_from_ + (one.first - origin) * target.element_bytes;
            if (scales()) scale(asked_->type, to, from, one.count, asked_->op.factor());
            else if (one.count > 0) {
                const bool past = apart_ && !tutti::reduces(asked_->kind) && !plan_->contributed().mixed(index);
                if (past) copy_past_caches(to, from, one.count * target.element_bytes);
                else std::memcpy(to, from, one.count * target.element_bytes);
            }
        }
    }
}

std::size_t operation_memory::transfer_bytes(int index, std::size_t slice) const noexcept {
    const blocks& moved = step_at(index).here;
    const layout& memory = space_of(moved.where);
    std::size_t count = 0;
    for (int block = moved.first; block < moved.first + moved.count; ++block) count += memory.slice(block, cut_.slices, slice).count;
    return count * memory.element_bytes;
}

std::uint64_t operation_memory::total_bytes() const noexcept {
    if (!plan_) return 0;
    std::uint64_t bytes = 0;
    for (const step& one : plan_->plan().steps()) {
        if (!is_transfer(one)) continue;
        for (int block = one.here.first; block < one.here.first + one.here.count; ++block)
            bytes += space_of(one.here.where).block(block).count;
    }
    return bytes * asked_->element_bytes();
}

template <class Append>
void operation_memory::each_run(const blocks& moved, std::size_t slice, Append append) const {
    const layout& memory = space_of(moved.where);
    part run{};
    for (int block = moved.first; block < moved.first + moved.count; ++block) {
        const part one = memory.slice(block, cut_.slices, slice);
        if (one.count == 0) continue;
        if (run.count > 0 && run.first + run.count == one.first) {
            run.count += one.count;
            continue;
        }
        memory.each_run(run, append);
        run = one;
    }
    memory.each_run(run, append);
}

void operation_memory::runs_of(int index, std::size_t slice, std::vector<std::span<std::byte>>& into) const {
    each_run(step_at(index).here, slice,
             [&](std::byte* data, std::size_t count) { into.emplace_back(data, count * asked_->element_bytes()); });
}
void operation_memory::runs_of(int index, std::size_t slice, std::vector<std::span<const std::byte>>& into) const {
    each_run(step_at(index).here, slice,
             [&](const std::byte* data, std::size_t count) { into.emplace_back(read_at(index, data), count * asked_->element_bytes()); });
}

void operation_memory::prefetch(int index, std::size_t slice) const noexcept {
    const blocks& moved = step_at(index).here;
    const layout& memory = space_of(moved.where);
    for (int block = moved.first; block < moved.first + moved.count; ++block)
        memory.each_run(memory.slice(block, cut_.slices, slice), [&](const std::byte* data, std::size_t count) {
            const std::byte* const from = read_at(index, data);
            prefetch_pages(from, count * memory.element_bytes);
            if (from != data && step_at(index).what != action::send) prefetch_pages(data, count * memory.element_bytes);
        });
}

void operation_memory::pack(part which) noexcept {
    const layout& output = space_of(space::output);
    std::byte* to = output.at(which.first);
    listed_.each_run(which.first, which.count, output.element_bytes, [&](const std::byte* data, std::size_t count) {
        std::memcpy(to, data, count * output.element_bytes);
        to += count * output.element_bytes;
    });
}

void operation_memory::unpack(std::size_t slice) noexcept {
    const layout& output = space_of(space::output);
    for (int block = 0; packed_ && block < output.blocks; ++block) {
        const part which = output.slice(block, cut_.slices, slice);
        const std::byte* from = output.at(which.first);
        listed_.each_run(which.first, which.count, output.element_bytes, [&](std::byte* data, std::size_t count) {
            std::memcpy(data, from, count * output.element_bytes);
            from += count * output.element_bytes;
        });
    }
}

}  // namespace tutti
