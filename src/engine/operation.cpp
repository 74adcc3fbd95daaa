#include "engine/operation.hpp"

#include "engine/engine.hpp"

#include "base/check.hpp"
#include "base/past_caches.hpp"
#include "reduce/identity.hpp"
#include "reduce/kernel.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace tutti {

void operation::begin(const request& asking) {
    laid_out_ = false;
    plan_.reset();
    used_senders_ = {};
    used_receivers_ = {};
    asked = asking;
    list_.assign(asking.list.begin(), asking.list.end());
    asked.list = list_;
    input_list_.assign(asking.input_list.begin(), asking.input_list.end());
    asked.input_list = input_list_;
    counts_.assign(asking.counts.begin(), asking.counts.end());
    asked.counts = counts_;
    recv_counts_.assign(asking.recv_counts.begin(), asking.recv_counts.end());
    asked.recv_counts = recv_counts_;
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
    if (plan_) rewind();
}

void operation::plan(std::shared_ptr<const program> plan, rank me, int size, const cutting& how) {
    plan_ = std::move(plan);
    me_ = me;
    size_ = size;
    place_memory();

    std::size_t longest = 0;
    for (const layout& each : spaces_) longest = std::max(longest, each.longest() * each.element_bytes);
    const std::size_t elements = longest / std::max<std::size_t>(asked.element_bytes(), 1);
    longest *= static_cast<std::size_t>(plan_->largest_transfer());
    // With given sizes the longest transfer is not largest_transfer() times the longest block, if that is one among many short ones.
    if (has_counts(asked.kind)) longest = std::min(longest, asked.count * asked.element_bytes());
    cut_.slices = std::clamp<std::size_t>((longest + how.slice_bytes - 1) / how.slice_bytes, 1, std::max<std::size_t>(elements, 1));
    cut_.segment = how.segment;
    // Not past the caches: averages, which are read again to be divided, and sums in place, whose lines have just been read.
    const layout& output = space_of(space::output);
    past_caches_ = output.count * asked.element_bytes() >= how.past_caches_from &&
                   (!tutti::reduces(asked.kind) || (apart_ && !scales() && asked.op.kind() != reduce_op::avg));
    // An all_gather must have its contribution in the output as well. It is copied there at first and sent from there, except past the
    // caches.
    apart_ = apart_ && (tutti::reduces(asked.kind) || past_caches_);
    // No rank knows the longest block of all, so ranks could not cut alike. Such plans forward nothing, so slices would gain nothing.
    if (asked.own_counts()) cut_.slices = 1;
    const std::size_t steps = plan_->plan().steps().size();
    progress_.resize(2 * steps + static_cast<std::size_t>(rounds()));
    done_ = std::span(progress_).first(steps);
    early_ = std::span(progress_).subspan(steps, steps);
    ended_ = std::span(progress_).subspan(2 * steps);
    if (senders_.size() < plan_->senders().size()) senders_.resize(plan_->senders().size());
    if (receivers_.size() < plan_->receivers().size()) receivers_.resize(plan_->receivers().size());
    used_senders_ = std::span(senders_).first(plan_->senders().size());
    used_receivers_ = std::span(receivers_).first(plan_->receivers().size());
    rewind();
    laid_out_ = true;  // last: an allocation above may throw
}

/// Resets all progress.
void operation::rewind() {
    prepared_ = copied_count_ > 0 ? 0 : cut_.slices;
    first_open_ = 0;
    open_transfers_ = rounds() > 0 ? plan_->transfers(0) : 0;
    applied_ = false;
    std::fill(progress_.begin(), progress_.end(), 0);
    const program::channel* way = plan_->senders().data();
    for (send_channel& each : senders()) each.begin({*this, *plan_, *way++, cut_});
    way = plan_->receivers().data();
    for (recv_channel& each : receivers()) each.begin({*this, *plan_, *way++, cut_});
}

bool operation::may_send(int round, std::size_t slice, std::size_t ahead) noexcept {
    const std::size_t past = ended_[static_cast<std::size_t>(round)];
    return (slice < past || slice - past < ahead) && may_begin(round, slice);
}

bool operation::may_send_among(int round, std::size_t slice, std::size_t ahead) noexcept {
    std::size_t past = cut_.slices;
    const int end = plan_->first_step(round + 1);
    for (int index = plan_->first_step(round); index < end; ++index) {
        const auto at = static_cast<std::size_t>(index);
        if (is_transfer(step_at(index))) past = std::min(past, done_[at] + early_[at]);
    }
    return (slice < past || slice - past < ahead) && may_begin(round, slice);
}

std::size_t operation::transfer_bytes(int index, std::size_t slice) const noexcept {
    const blocks& moved = step_at(index).here;
    const layout& memory = space_of(moved.where);
    std::size_t count = 0;
    for (int block = moved.first; block < moved.first + moved.count; ++block) count += memory.slice(block, cut_.slices, slice).count;
    return count * memory.element_bytes;
}

std::optional<std::uint32_t> operation::index_of(const program::answer* frame, std::size_t slice) const noexcept {
    if (!frame) return std::nullopt;
    return static_cast<std::uint32_t>(frame->frame_index(slice, cut_.slices, cut_.segment));
}

bool operation::writes_soon() const noexcept {
    constexpr std::size_t cached_bytes = 2 * MiB;  // a core's own cache, and a little more
    return asked.kind == collective::all_reduce && asked.count * asked.element_bytes() < cached_bytes;
}

void operation::count_early(int index, std::size_t slice) noexcept {
    --early_[static_cast<std::size_t>(index)];
    transferred(index, transfer_bytes(index, slice));
}

std::uint64_t operation::total_bytes() const noexcept {
    if (!plan_) return 0;
    std::uint64_t bytes = 0;
    for (const step& one : plan_->plan().steps()) {
        if (!is_transfer(one)) continue;
        for (int block = one.here.first; block < one.here.first + one.here.count; ++block)
            bytes += space_of(one.here.where).block(block).count;
    }
    return bytes * asked.element_bytes();
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

bool operation::transfers_done(int round, std::size_t slice) const noexcept {
    const int end = plan_->first_step(round + 1);
    for (int index = plan_->first_step(round); index < end; ++index)
        if (is_transfer(step_at(index)) && done_[static_cast<std::size_t>(index)] <= slice) return false;
    return true;
}

/// The rounds of all slices: round by round, as many slices as the round before has ended. Each may open the next round's slices at once.
bool operation::advance_all() noexcept {
    if (rounds() == 0) {  // in a group of one rank, for example
        const bool open = prepared_ < cut_.slices;
        prepare(cut_.slices - 1);
        for (std::size_t slice = 0; slice < cut_.slices; ++slice) finish_slice(slice);
        return open;
    }
    if (cut_.slices == 1) return advance_whole();
    bool any = false;
    for (int round = first_open_; round < rounds(); ++round) {
        auto& past = ended_[static_cast<std::size_t>(round)];
        const std::size_t limit = round == 0 ? cut_.slices : ended_[static_cast<std::size_t>(round) - 1];
        for (; past < limit && transfers_done(round, past); any = true) {
            if (round == 0) prepare(past);
            apply(round, past);
            if (ended) return false;  // an operator threw
            if (round + 1 == rounds()) finish_slice(past);
            ++past;
        }
        if (past == cut_.slices && round == first_open_) ++first_open_;
        if (past == 0) break;  // then no slice has come to later rounds either
    }
    return any;
}

/// Does the same for one slice, which is in one round at a time.
bool operation::advance_whole() noexcept {
    bool any = false;
    for (; first_open_ < rounds() && open_transfers_ == 0; any = true) {
        if (first_open_ == 0) prepare(0);
        if (!std::exchange(applied_, false)) apply(first_open_, 0);
        if (ended) return false;  // an operator threw
        ended_[static_cast<std::size_t>(first_open_)] = 1;
        if (++first_open_ < rounds()) open_transfers_ = plan_->transfers(first_open_);
        else finish_slice(0);
    }
    return any;
}

void operation::apply(int round, std::size_t slice) noexcept {
    const int end = plan_->first_step(round + 1);
    for (int index = plan_->first_step(round); index < end && !ended; ++index) {
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
        TUTTI_CHECK(plan_->reduces_at_once(index) || plan_->reduces_together(index), "a slice to be reduced has landed nowhere");
        return;  // reduced when it arrived
    }
    if (reduce(index, slice, full->data.get())) full->of = nullptr;
}

bool operation::reduce(int index, std::size_t slice, const std::byte* arrived) noexcept {
    const step& one = step_at(index);
    const layout& memory = space_of(one.here.where);
    bool going = true;
    const auto combine_run = [&](std::byte* mine, std::size_t count) {
        going = going && combine_with(index, mine, arrived, count);
        arrived += count * memory.element_bytes;
    };
    for (int block = one.here.first; block < one.here.first + one.here.count; ++block)
        memory.each_run(memory.slice(block, cut_.slices, slice), combine_run);
    return going;
}

bool operation::take(int index, std::span<std::byte> into, std::span<const std::byte> arrived) noexcept {
    if (!reduces(index)) {
        if (!into.empty()) std::memcpy(into.data(), arrived.data(), into.size());
        return true;
    }
    // As the last transfer of its round it may be applied here: no open transfer reads the memory of the sum.
    const bool last = cut_.slices == 1 && open_transfers_ == 1 && plan_->applies_alone(index);
    if (asked.op.user() || !(last || reduces_at_once(index))) return false;
    applied_ = last;
    return combine_with(index, into.data(), arrived.data(), into.size() / asked.element_bytes());
}

template <class Use>
std::size_t operation::along(int index, std::size_t slice, std::uint64_t offset, std::size_t bytes, Use&& use) const noexcept {
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

std::size_t operation::reduce(int index, std::size_t slice, std::uint64_t offset, std::span<const std::byte> part, std::byte* back) noexcept {
    const std::byte* const arrived = part.data();
    const bool at_once = back || (past_caches(index) && !asked.op.user());
    if (at_once) return reduce(index, slice, offset, part.size(), {&arrived, 1}, std::span(&back, back ? 1 : 0));
    bool going = true;
    return along(index, slice, offset, part.size(), [&](std::byte* mine, std::size_t at, std::size_t count) {
        going = going && combine_with(index, mine, arrived + at, count);
    });
}

std::size_t operation::reduce(int index, std::size_t slice, std::uint64_t offset, std::size_t bytes,
                              std::span<const std::byte* const> parts, std::span<std::byte* const> backs) noexcept {
    TUTTI_CHECK(parts.size() <= most_merged && backs.size() <= most_merged, "more parts than are combined in one pass");
    std::array<const std::byte*, most_merged> others;
    std::array<std::byte*, most_merged> also;
    // Past the caches only if every peer that wants the sum takes it in this pass: else it is read again, to be sent.
    const bool past = past_caches(index) && (backs.size() == parts.size() || !plan_->sum_of(index));
    return along(index, slice, offset, bytes, [&](std::byte* mine, std::size_t at, std::size_t count) {
        for (std::size_t each = 0; each < parts.size(); ++each) others[each] = parts[each] + at;
        for (std::size_t each = 0; each < backs.size(); ++each) also[each] = backs[each] + at;
        merge(asked.op, asked.type,
              {read_at(index, mine), std::span(others).first(parts.size()), mine, std::span(also).first(backs.size()), past}, count);
    });
}

/// Puts the lower rank's operand first, so both sides of an exchange compute the same bits with any operator. Returns false when the user's
/// operator threw: then all operations have ended, this one too.
bool operation::combine_with(int index, std::byte* mine, const std::byte* arrived, std::size_t count) noexcept {
    const std::byte* first = read_at(index, mine);
    const std::byte* second = arrived;
    if (step_at(index).peer < me_) std::swap(first, second);
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
    const layout& source = space_of(one.from.where);
    const layout& target = space_of(one.here.where);
    for (int offset = 0; offset < one.here.count; ++offset) {
        part from = source.slice(one.from.first + offset, cut_.slices, slice);
        const part to{target.slice(one.here.first + offset, cut_.slices, slice).first, from.count};
        target.each_run(to, [&](std::byte* into, std::size_t count) {
            source.each_run({from.first, count}, [&](const std::byte* there, std::size_t run) {
                const std::byte* const data = read_at(index, there);
                const std::size_t bytes = run * source.element_bytes;
                if (data != into) past_caches(index) ? copy_past_caches(into, data, bytes) : void(std::memmove(into, data, bytes));
                into += bytes;
            });
            from.first += count;
        });
    }
}

/// Completes a slice that holds its result, while it is in the cache. An exclusive scan of rank 0 becomes the identity, averages are
/// divided, and packed lists go back to their buffers.
void operation::finish_slice(std::size_t slice) noexcept {
    const layout& output = space_of(space::output);
    if (asked.kind == collective::exclusive_scan && me_ == 0) {
        const part one = output.slice(0, cut_.slices, slice);
        fill_identity(asked.op, asked.type, output.at(one.first), one.count);
    }
    if (asked.op.kind() == reduce_op::avg) average(slice);
    for (int block = 0; packed_ && block < output.blocks; ++block) unpack(output.slice(block, cut_.slices, slice));
}

void operation::average(std::size_t slice) noexcept {
    if (size_ == 1 || !tutti::reduces(asked.kind)) return;
    if (asked.kind == collective::reduce && asked.root != me_) return;
    const layout& output = space_of(space::output);
    for (int block = 0; block < output.blocks; ++block) {
        output.each_run(output.slice(block, cut_.slices, slice),
                        [&](std::byte* data, std::size_t count) { divide(asked.type, data, count, size_); });
    }
}

void operation::cancel() noexcept { owner_.cancel(*this, "it was cancelled"); }
void operation::abandon() noexcept { owner_.cancel(*this, "its future was dropped before the end"); }
void operation::overdue() noexcept { owner_.overdue(*this); }

void operation::recycle() noexcept {
    if (!owner_.pool().take_back(*this)) owner_.put_back(*this);
}

}  // namespace tutti
