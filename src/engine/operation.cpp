#include "engine/operation.hpp"

#include "engine/engine.hpp"

#include "base/check.hpp"
#include "base/past_caches.hpp"
#include "reduce/identity.hpp"
#include "reduce/kernel.hpp"
#include "schedule/answers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace tutti {

// ---- calls

void operation::begin(const request& asking) {
    laid_out_ = false;
    program_.reset();
    used_senders_ = {};
    used_receivers_ = {};
    asked.keep(asking);
    again();
}

bool operation::begin_like_before(const request& asking) {
    if (!laid_out_ || !repeats(asked, asking)) return false;
    asked.op = asking.op;  // a factor of -0 is equal to one of 0
    asked.deadline = asking.deadline;
    asked.label = asking.label;
    what.label = digest_of_label(asking.label) & 0xff'ffff;
    again();
    return true;
}

void operation::again() {
    renew();
    ended = false;
    failed.reset();
    done_bytes_ = 0;
    if (program_) rewind();
}

void operation::follow(std::shared_ptr<const tutti::program> compiled, const cutting& how) {
    program_ = std::move(compiled);
    const engine_identity& who = owner_.who();
    memory_.place(asked, *program_, who.me, who.size, how, [this](std::size_t bytes) { return scratch(bytes); });
    progress_.begin(*program_, slices());
    if (senders_.size() < program_->senders().size()) senders_.resize(program_->senders().size());
    if (receivers_.size() < program_->receivers().size()) receivers_.resize(program_->receivers().size());
    used_senders_ = std::span(senders_).first(program_->senders().size());
    used_receivers_ = std::span(receivers_).first(program_->receivers().size());
    rewind();
    laid_out_ = true;  // last: an allocation above may throw
}

/// Resets all progress.
void operation::rewind() noexcept {
    memory_.rewind();
    progress_.rewind();
    applied_ = false;
    const tutti::program::channel* way = program_->senders().data();
    for (send_channel& each : senders()) each.begin({*this, *program_, *way++, memory_.cut()});
    way = program_->receivers().data();
    for (recv_channel& each : receivers()) each.begin({*this, *program_, *way++, memory_.cut()});
}

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

// ---- progress

std::optional<std::uint32_t> operation::index_of(const tutti::program::answer* frame, std::size_t slice) const noexcept {
    if (!frame) return std::nullopt;
    return static_cast<std::uint32_t>(frame->frame_index(slice, slices(), memory_.cut().segment));
}

bool operation::writes_soon() const noexcept {
    constexpr std::size_t cached_bytes = 2 * MiB;  // a core's own cache, and a little more
    return asked.kind == collective::all_reduce && asked.count * asked.element_bytes() < cached_bytes;
}

std::vector<rank> operation::awaited() const {
    int first = std::numeric_limits<int>::max();
    std::vector<rank> peers;
    const auto add = [&](const cursor& at) {
        if (at.ended() || at.round() > first) return;
        if (at.round() < first) peers.clear();
        first = at.round();
        if (std::find(peers.begin(), peers.end(), at.peer()) == peers.end()) peers.push_back(at.peer());
    };
    for (const recv_channel& each : used_receivers_) add(each.at);
    for (const send_channel& each : used_senders_) add(each.at);
    return peers;
}

bool operation::advance_all() noexcept {
    if (rounds() == 0) {  // in a group of one rank, for example
        const bool open = !memory_.prepared();
        memory_.prepare(slices() - 1);
        for (std::size_t slice = 0; slice < slices(); ++slice) finish_slice(slice);
        return open;
    }
    return progress_.advance([this](int round, std::size_t slice) {
        if (round == 0) memory_.prepare(slice);
        if (!std::exchange(applied_, false)) apply(round, slice);
        if (ended) return false;  // an operator threw
        if (round + 1 == rounds()) finish_slice(slice);
        return true;
    });
}

void operation::apply(int round, std::size_t slice) noexcept {
    const int end = program_->first_step(round + 1);
    for (int index = program_->first_step(round); index < end && !ended; ++index) {
        const step& one = step_at(index);
        if (one.what == action::recv_reduce) apply_reduction(index, slice);
        else if (one.what == action::copy) apply_copy(index, slice);
    }
}

void operation::apply_reduction(int index, std::size_t slice) noexcept {
    const step& one = step_at(index);
    port_receiver* from = nullptr;
    for (const recv_channel& each : receivers())
        if (each.at.peer() == one.peer) from = each.over;
    bounce* const full = from->lanes().bounce_of(*this, index, slice);
    if (!full) {
        TUTTI_CHECK(program_->reduces_at_once(index) || program_->reduces_together(index), "a slice to be reduced has landed nowhere");
        return;  // reduced when it arrived
    }
    if (reduce(index, slice, full->data.get())) full->of = nullptr;
}

bool operation::reduce(int index, std::size_t slice, const std::byte* arrived) noexcept {
    const step& one = step_at(index);
    const layout& memory = memory_.space_of(one.here.where);
    bool going = true;
    const auto combine_run = [&](std::byte* mine, std::size_t count) {
        going = going && combine_with(index, mine, arrived, count);
        arrived += count * memory.element_bytes;
    };
    for (int block = one.here.first; block < one.here.first + one.here.count; ++block)
        memory.each_run(memory.slice(block, slices(), slice), combine_run);
    return going;
}

bool operation::take(int index, std::span<std::byte> into, std::span<const std::byte> arrived) noexcept {
    if (!reduces(index)) {
        if (!into.empty()) std::memcpy(into.data(), arrived.data(), into.size());
        return true;
    }
    // As the last transfer of its round it may be applied here: no open transfer reads the memory of the sum.
    const bool last = progress_.waits_for_one() && program_->applies_alone(index);
    if (asked.op.user() || !(last || reduces_at_once(index))) return false;
    applied_ = last;
    return combine_with(index, into.data(), arrived.data(), into.size() / asked.element_bytes());
}

// ---- arithmetic

std::size_t operation::reduce(int index, std::size_t slice, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept {
    const std::byte* const arrived = part.data();
    const bool at_once = back || (memory_.past_caches(index) && !asked.op.user());
    if (at_once) return reduce(index, slice, offset, part.size(), {&arrived, 1}, std::span(&back, back ? 1 : 0));
    bool going = true;
    return memory_.along(index, slice, offset, part.size(), [&](std::byte* mine, std::size_t at, std::size_t count) {
        going = going && combine_with(index, mine, arrived + at, count);
    });
}

std::size_t operation::reduce(int index, std::size_t slice, std::uint64_t offset, std::size_t bytes,
                              std::span<const std::byte* const> parts, std::span<std::byte* const> backs) noexcept {
    TUTTI_CHECK(parts.size() <= most_merged && backs.size() <= most_merged, "more parts than are combined in one pass");
    std::array<const std::byte*, most_merged> others;
    std::array<std::byte*, most_merged> also;
    // Past the caches only if every peer that wants the sum takes it in this pass: else it is read again, to be sent.
    const bool past = memory_.past_caches(index) && (backs.size() == parts.size() || !program_->sum_of(index));
    return memory_.along(index, slice, offset, bytes, [&](std::byte* mine, std::size_t at, std::size_t count) {
        for (std::size_t each = 0; each < parts.size(); ++each) others[each] = parts[each] + at;
        for (std::size_t each = 0; each < backs.size(); ++each) also[each] = backs[each] + at;
        merge(asked.op, asked.type,
              {memory_.read_at(index, mine), std::span(others).first(parts.size()), mine, std::span(also).first(backs.size()), past},
              count);
    });
}

/// Puts the lower rank's operand first, so both sides of an exchange compute the same bits with any operator. Returns false when the user's
/// operator threw: then all operations have ended, this one too.
bool operation::combine_with(int index, std::byte* mine, const std::byte* arrived, std::size_t count) noexcept {
    const std::byte* first = memory_.read_at(index, mine);
    const std::byte* second = arrived;
    if (step_at(index).peer < owner_.who().me) std::swap(first, second);
    try {
        combine(asked.op, asked.type, mine, first, second, count);
        return true;
    } catch (const std::exception& thrown) {
        owner_.operator_threw(*this, thrown.what());
    } catch (...) {
        owner_.operator_threw(*this, "something that is no std::exception");
    }
    return false;
}

void operation::apply_copy(int index, std::size_t slice) noexcept {
    const step& one = step_at(index);
    const layout& source = memory_.space_of(one.from.where);
    const layout& target = memory_.space_of(one.here.where);
    for (int offset = 0; offset < one.here.count; ++offset) {
        part from = source.slice(one.from.first + offset, slices(), slice);
        const part to{target.slice(one.here.first + offset, slices(), slice).first, from.count};
        target.each_run(to, [&](std::byte* into, std::size_t count) {
            source.each_run({from.first, count}, [&](const std::byte* there, std::size_t run) {
                const std::byte* const data = memory_.read_at(index, there);
                const std::size_t bytes = run * source.element_bytes;
                if (data != into) memory_.past_caches(index) ? copy_past_caches(into, data, bytes) : void(std::memmove(into, data, bytes));
                into += bytes;
            });
            from.first += count;
        });
    }
}

/// Completes a slice that holds its result, while it is in the cache. An exclusive scan of rank 0 becomes the identity, averages are
/// divided, and packed lists go back to their buffers.
void operation::finish_slice(std::size_t slice) noexcept {
    if (asked.kind == collective::exclusive_scan && owner_.who().me == 0) {
        const layout& output = memory_.space_of(space::output);
        const part one = output.slice(0, slices(), slice);
        fill_identity(asked.op, asked.type, output.at(one.first), one.count);
    }
    if (asked.op.kind() == reduce_op::avg) average(slice);
    memory_.unpack(slice);
}

void operation::average(std::size_t slice) noexcept {
    if (owner_.who().size == 1 || !tutti::reduces(asked.kind)) return;
    if (asked.kind == collective::reduce && asked.root != owner_.who().me) return;
    const layout& output = memory_.space_of(space::output);
    for (int block = 0; block < output.blocks; ++block) {
        output.each_run(output.slice(block, slices(), slice),
                        [&](std::byte* data, std::size_t count) { divide(asked.type, data, count, owner_.who().size); });
    }
}

void operation::cancel() noexcept { owner_.cancel(*this, "it was cancelled"); }
void operation::abandon() noexcept { owner_.cancel(*this, "its future was dropped before the end"); }
void operation::overdue() noexcept { owner_.overdue(*this); }

void operation::recycle() noexcept {
    if (!owner_.pool().take_back(*this)) owner_.put_back(*this);
}

}  // namespace tutti
