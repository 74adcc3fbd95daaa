// Where an engine's operations come from and go back to, with the plans, layouts and memory that they keep for the next call.
#include "engine/engine.hpp"
#include "engine/repeated_call.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

/// Where a call begins. It stays in its list of free ones, since memory may run out before it is ready.
operation& engine::first_of(operation_list& free) {
    if (!free.first) collect();
    if (!free.first) {
        owned_.push_back(std::make_unique<operation>(*this));
        free.push(*owned_.back());
    }
    return *free.first;
}

/// The operation that would be next if this were the last call once more, begun, when it was this call before. Null if not, and nothing has
/// changed. Where an operator of the user's was there may be another one now, of which the digest tells.
operation* engine::begun_like_before(const request& what) noexcept {
    if (!last_choice_.made || failure_ || shut_) return nullptr;
    operation_list& free = last_choice_.made->free;
    if (!free.first) collect();
    operation* const next = free.first;
    if (!next || next->what.digest != (what.digest ^ what.op.digest())) return nullptr;
    return next->begin_like_before(what) ? next : nullptr;
}

engine::prepared& engine::prepare(const request& what) {
    const choice asked{what.kind, what.op.ordered(), what.allocated, what.root, vector_bytes(what, who_.size)};
    if (last_choice_.made && last_choice_.asked == asked) return *last_choice_.made;
    const algorithm& chosen = chooser_for(what.allocated).choose(asked.kind, asked.vector_bytes, asked.ordered);
    const auto number = static_cast<std::uint8_t>(tutti::number(chosen));
    prepared& found = programs_[{what.kind, number, what.root}];
    if (!found.plan) {
        const auto other = std::find_if(programs_.begin(), programs_.end(), [&](const auto& each) {
            return each.first.kind == what.kind && each.first.algorithm == number && each.second.plan;
        });
        found.plan =
            compile(chosen, {who_.me, who_.size, what.root, &who_.hosts}, other == programs_.end() ? nullptr : other->second.plan.get());
    }
    found.algorithm = number;
    last_choice_ = {asked, &found};
    return found;
}

operation& engine::made_of(const request& what) {
    prepared* const ready = failure_ || shut_ ? nullptr : &prepare(what);
    operation_list& free = ready ? ready->free : free_;
    operation& made = first_of(free);
    if (!ready || !made.begin_like_before(what)) make_ready(made, what, ready ? ready->plan : nullptr);
    made.what = describe(what);
    if (ready) made.what.algorithm = ready->algorithm;
    made.kept_in = &free;
    return made;
}

static std::size_t slice_bytes(const request& what, const engine_settings& by) noexcept {
    const bool reduced = by.reduced_slice_bytes > 0 && reduces(what.kind) && !what.allocated;
    return reduced ? by.reduced_slice_bytes : by.slice_bytes;
}

/// Without a plan where nothing can be done any more.
void engine::make_ready(operation& made, const request& what, const std::shared_ptr<const program>& plan) {
    made.begin(what);
    if (plan) made.plan(plan, who_.me, who_.size, {slice_bytes(what, settings_), segment(), settings_.packet_bytes, past_caches_from_});
    made.epoch = who_.epoch;
    assign_lanes(made, what);
}

/// Where it is when nobody uses it.
operation_list& engine::place_of(operation& which) noexcept { return which.call ? which.call->free : *which.kept_in; }

/// To its caller. Futures may outlive the communicator: while any of these is out, the engine lives.
void engine::take_out(operation& made) {
    if (!self_) self_ = shared_from_this();
    place_of(made).remove(made);
    ++out_;
}

bool engine::take_back(operation& which) noexcept {
    operation* last = returned_.load(std::memory_order_relaxed);
    do {
        if (last == closed_pool()) return false;
        which.next = last;
    } while (!returned_.compare_exchange_weak(last, &which, std::memory_order_release, std::memory_order_relaxed));
    return true;
}

void engine::put_back(operation& which) noexcept {
    if (!made_.here()) return;
    std::shared_ptr<engine> self;  // destroyed when the guard is free
    const std::lock_guard lock(guard_);
    put(which);
    if (out_ == 0) self = std::move(self_);
}

void engine::put(operation& which) noexcept {
    place_of(which).push(which);
    --out_;
}

/// Every root has operations of its own, and long scratch is not kept for each: it goes on from one at rest, too short or not, as the longest
/// that is at most twice as long. With the guard held.
void engine::take_scratch(operation& to, std::size_t bytes) noexcept {
    constexpr std::size_t long_bytes = 1 * MiB;
    operation* from = nullptr;
    std::size_t longest = long_bytes - 1;
    for (auto& [key, made] : programs_)
        for (operation* each = made.free.first; each && bytes >= long_bytes; each = each->next)
            if (each != &to && each->scratch_bytes_ > longest && each->scratch_bytes_ / 2 <= bytes)
                from = each, longest = each->scratch_bytes_;
    if (!from) return;
    to.scratch_ = std::move(from->scratch_);
    to.scratch_bytes_ = std::exchange(from->scratch_bytes_, 0);
    from->laid_out_ = false;
}

/// Puts operations that have come back where the next calls look for them: the one that came first is taken first, so that calls in turns
/// find the memory they had.
void engine::collect(operation* instead) noexcept {
    if (returned_.load(std::memory_order_relaxed) == closed_pool()) return;
    operation* first = nullptr;
    for (operation* last = returned_.exchange(instead, std::memory_order_acquire); last;) {
        operation* const before = std::exchange(last->next, first);
        first = std::exchange(last, before);
    }
    while (first) put(*std::exchange(first, first->next));
}

/// From here on operations come back one by one, and with the last of them the engine's hold on itself ends: here, if all are back. Somebody
/// else holds it now.
void engine::close_pool() noexcept {
    collect(closed_pool());
    if (out_ == 0) self_.reset();
}

std::uint64_t engine::calls() noexcept {
    const std::lock_guard lock(guard_);
    return next_sequence_ - 1;
}

}  // namespace tutti
