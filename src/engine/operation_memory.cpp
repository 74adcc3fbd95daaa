// The memory of an operation: the caller's and its own, the input that is copied or scaled before a slice begins, and where the transfers
// of a step lie.
#include "base/past_caches.hpp"
#include "base/prefetch.hpp"
#include "engine/engine.hpp"
#include "reduce/kernel.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {

std::byte* operation::scratch(std::size_t bytes) {
    if (scratch_bytes_ < bytes) owner_.pool().take_scratch(*this, bytes);
    if (scratch_bytes_ < bytes) {
        scratch_bytes_ = 0;
        scratch_.reset();  // first, so that old and new need not fit into memory together
        scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
        scratch_bytes_ = bytes;
    }
    return scratch_.get();
}

void operation::give_scratch(operation& to) noexcept {
    to.scratch_ = std::move(scratch_);
    to.scratch_bytes_ = std::exchange(scratch_bytes_, 0);
    laid_out_ = false;
}

/// Lays out one space. `whole`: it holds a block for each rank, else only this rank's.
layout operation::one_space(bool whole, std::byte* data, int blocks, std::span<const std::size_t> counts,
                            std::vector<std::size_t>& starts) const {
    const std::size_t element = asked.element_bytes();
    if (counts.empty()) return {data, asked.count * (whole ? static_cast<std::size_t>(size_) : 1), element, blocks};
    if (!whole) return {data, counts[static_cast<std::size_t>(me_)], element, blocks};
    starts.assign(1, 0);
    for (const std::size_t count : counts) starts.push_back(starts.back() + count);
    return {data, starts.back(), element, blocks, starts.data()};
}

void operation::place_memory() {
    const shape& shape = plan_->plan().spaces();
    auto* in = static_cast<std::byte*>(const_cast<void*>(asked.input));  // no plan writes to its input: the verifier sees to that
    auto* out = static_cast<std::byte*>(asked.output);
    const auto received = asked.kind == collective::all_to_all_v ? asked.recv_counts : asked.counts;
    layout& input = spaces_[static_cast<int>(space::input)] = one_space(spreads(asked.kind), in, shape.input, asked.counts, input_starts_);
    layout& output = spaces_[static_cast<int>(space::output)] =
        one_space(collects(asked.kind), out, shape.output, received, output_starts_);
    const std::size_t element = asked.element_bytes();
    const bool like_input = shape.scratch > 0 && has_counts(asked.kind);
    const std::size_t blocks =
        like_input ? input.count : std::max(input.longest(), output.longest()) * static_cast<std::size_t>(shape.scratch);
    place_list(output);
    input_listed_.clear();
    for (const buffer& each : asked.input_list) input_listed_.add(static_cast<std::byte*>(each.data), each.count, element);
    if (input_listed_.size() > 0) input.scattered = &input_listed_;
    // A rank that is not the root of a reduce has no output: its partial sums go to scratch, or nowhere if it only sends.
    // A scaled input goes to scratch where the plan reads the input, or this rank has no output.
    const bool no_output = asked.kind == collective::reduce && out == nullptr && in != nullptr;
    const bool needs_copy = packed_ || (no_output && (plan_->writes_output() || scales()));
    const bool scales_input = scales() && input.blocks > 0;
    const std::size_t own_blocks = blocks + (needs_copy ? asked.count : 0);
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
void operation::place_list(layout& output) {
    constexpr std::size_t small_piece_bytes = 1 * KiB;
    listed_.clear();
    for (const buffer& each : asked.list) listed_.add(static_cast<std::byte*>(each.data), each.count, output.element_bytes);
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
void operation::place_input_copy() noexcept {
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
    if (!copied_from_ || asked.count == 0) return;
    if (asked.kind == collective::all_gather || asked.kind == collective::all_gather_v) {
        copied_first_ = me_;
        copied_over_ = output.address(output.block(me_).first);
        apart_ = copied_from_ != copied_over_;
        copied_count_ = apart_ ? 1 : 0;
    } else if (tutti::reduces(asked.kind) && !spreads(asked.kind)) {
        copied_first_ = 0;
        copied_over_ = output.data;
        apart_ = copied_from_ != copied_over_ && !scales();
        copied_count_ = scales() || (apart_ && plan_->contributed().stays()) ? output.blocks : 0;
    } else if (tutti::reduces(asked.kind)) {
        place_own_part();
    }
}

/// Does the same for a reduce_scatter, whose own part belongs in the output. If the plan needs it there, only that part is copied or
/// scaled; otherwise a scaled input is scaled as a whole.
void operation::place_own_part() noexcept {
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

void operation::prepare_up_to(std::size_t slice) noexcept {
    for (; prepared_ <= slice; ++prepared_) {
        const layout& target = space_of(copied_to_);
        const std::size_t origin = target.block(copied_first_).first;
        for (int index = copied_first_; index < copied_first_ + copied_count_; ++index) {
            if (apart_ && copied_to_ == space::output && !plan_->contributed().stays(index)) continue;
            const part one = target.slice(index, cut_.slices, prepared_);
            if (packed_) pack(one);
            if (packed_ || (target.scattered && scales())) {
                if (scales())
                    target.each_run(one, [&](std::byte* run, std::size_t count) { scale(asked.type, run, run, count, asked.op.factor()); });
                continue;
            }
            std::byte* const to = target.address(one.first);
            const std::byte* from =
                copied_to_ == space::input ? given(one.first) : copied_from_ + (one.first - origin) * target.element_bytes;
            if (scales()) scale(asked.type, to, from, one.count, asked.op.factor());
            else if (one.count > 0) {
                const bool past = apart_ && !tutti::reduces(asked.kind) && !plan_->contributed().mixed(index);
                if (past) copy_past_caches(to, from, one.count * target.element_bytes);
                else std::memcpy(to, from, one.count * target.element_bytes);
            }
        }
    }
}

template <class Append>
void operation::each_run(const blocks& moved, std::size_t slice, Append append) const {
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

void operation::runs_of(int index, std::size_t slice, std::vector<std::span<std::byte>>& into) const {
    each_run(step_at(index).here, slice,
             [&](std::byte* data, std::size_t count) { into.emplace_back(data, count * asked.element_bytes()); });
}
void operation::runs_of(int index, std::size_t slice, std::vector<std::span<const std::byte>>& into) const {
    each_run(step_at(index).here, slice,
             [&](const std::byte* data, std::size_t count) { into.emplace_back(read_at(index, data), count * asked.element_bytes()); });
}

void operation::prefetch(int index, std::size_t slice) const noexcept {
    const blocks& moved = step_at(index).here;
    const layout& memory = space_of(moved.where);
    for (int block = moved.first; block < moved.first + moved.count; ++block)
        memory.each_run(memory.slice(block, cut_.slices, slice), [&](const std::byte* data, std::size_t count) {
            const std::byte* const from = read_at(index, data);
            prefetch_pages(from, count * memory.element_bytes);
            if (from != data && step_at(index).what != action::send) prefetch_pages(data, count * memory.element_bytes);
        });
}

void operation::pack(part which) noexcept {
    const layout& output = space_of(space::output);
    std::byte* to = output.at(which.first);
    listed_.each_run(which.first, which.count, output.element_bytes, [&](const std::byte* data, std::size_t count) {
        std::memcpy(to, data, count * output.element_bytes);
        to += count * output.element_bytes;
    });
}

void operation::unpack(part which) noexcept {
    const layout& output = space_of(space::output);
    const std::byte* from = output.at(which.first);
    listed_.each_run(which.first, which.count, output.element_bytes, [&](std::byte* data, std::size_t count) {
        std::memcpy(data, from, count * output.element_bytes);
        from += count * output.element_bytes;
    });
}

}  // namespace tutti
