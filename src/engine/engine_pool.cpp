// The pool of an engine's operations, and its plans. An operation in the pool keeps its layout and memory for the next call.
#include "engine/engine.hpp"
#include "engine/repeated_call.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

/// Returns the first free operation of a list, or a new one. It stays in the list until it is ready, since memory may run out before.
operation& engine::first_of(operation_list& free) {
    if (!free.first()) collect();
    if (!free.first()) {
        owned_.push_back(std::make_unique<operation>(*this));
        free.push(*owned_.back());
    }
    return *free.first();
}

/// Returns an operation that has begun as a repeat of the last call on the same memory; null, with nothing changed, if this call is not
/// that. Then choice, plan and layout are skipped. The digest is compared first: another user's operator may lie at the address of the last
/// one.
operation* engine::begun_like_before(const request& what) noexcept {
    if (!last_choice_.made || over()) return nullptr;
    operation_list& free = last_choice_.made->free;
    if (!free.first()) collect();
    operation* const next = free.first();
    if (!next || next->what.digest != (what.digest ^ what.op.digest())) return nullptr;
    return next->begin_like_before(what) ? next : nullptr;
}

/// Returns the plan for a call: that of the last call if all that matters is equal, a cached one, or a new one.
engine::prepared& engine::prepare(const request& what) {
    const choice asked{what.kind, what.op.ordered(), what.root, vector_bytes(what, who_.size)};
    if (last_choice_.made && last_choice_.asked == asked) return *last_choice_.made;
    const algorithm& chosen = choose_.choose(asked.kind, asked.vector_bytes, asked.ordered);
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
    prepared* const ready = over() ? nullptr : &prepare(what);
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

/// Makes an operation ready for a call; without a plan after a failure.
void engine::make_ready(operation& made, const request& what, const std::shared_ptr<const program>& plan) {
    made.begin(what);
    if (plan) made.plan(plan, who_.me, who_.size, {slice_bytes(what, settings_), segment_of(settings_, who_), past_caches_from_});
    made.epoch = who_.epoch;
    assign_lanes(made, what);
}

/// Returns the list to which a free operation belongs.
operation_list& engine::list_of(operation& which) noexcept { return which.call ? which.call->free : *which.kept_in; }

/// Takes an operation out of the pool for a caller. Futures may outlive the communicator: while any operation is out, the engine lives.
void engine::take_out(operation& made) {
    if (!self_) self_ = shared_from_this();
    list_of(made).remove(made);
    ++out_;
}

bool engine::take_back(operation& which) noexcept {
    operation* last = returned_.load(std::memory_order_relaxed);
    do {
        if (last == closed_pool()) return false;
        which.life.next = last;
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
    list_of(which).push(which);
    --out_;
}

/// Moves long scratch from a free operation to one that needs it, so that it is not kept once for each root. Takes the longest that is at
/// most twice as long as needed; a shorter one is then freed by the new owner. With the guard held.
void engine::take_scratch(operation& to, std::size_t bytes) noexcept {
    constexpr std::size_t long_bytes = 1 * MiB;  // shorter scratch stays with its operation
    operation* from = nullptr;
    std::size_t longest = long_bytes - 1;
    for (auto& [key, made] : programs_)
        for (operation* each = made.free.first(); each && bytes >= long_bytes; each = operation_list::after(*each))
            if (each != &to && each->scratch_bytes_ > longest && each->scratch_bytes_ / 2 <= bytes)
                from = each, longest = each->scratch_bytes_;
    if (!from) return;
    to.scratch_ = std::move(from->scratch_);
    to.scratch_bytes_ = std::exchange(from->scratch_bytes_, 0);
    from->laid_out_ = false;
}

/// Puts returned operations into their lists, the first that came back first: calls that take turns then find the memory that they had.
/// `instead`: what returned_ is afterwards.
void engine::collect(operation* instead) noexcept {
    if (returned_.load(std::memory_order_relaxed) == closed_pool()) return;
    operation* first = nullptr;
    for (operation* last = returned_.exchange(instead, std::memory_order_acquire); last;) {
        operation* const before = std::exchange(last->life.next, first);
        first = std::exchange(last, before);
    }
    while (first) put(*std::exchange(first, first->life.next));
}

/// Closes returned_: from here on operations come back by put_back, and the last one ends the engine's hold on itself. If all are back,
/// that hold ends here; the caller has one of its own.
void engine::close_pool() noexcept {
    collect(closed_pool());
    if (out_ == 0) self_.reset();
}

}  // namespace tutti
