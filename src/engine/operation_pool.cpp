#include "engine/operation_pool.hpp"

#include "engine/engine.hpp"
#include "engine/repeated_call.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tutti {

static chooser chooser_at(const cost_model& costs, const engine_settings& settings, const engine_identity& who) {
    std::vector<chooser::range> wanted = wanted_in(settings.tuning, who.size, who.hosts);
    for (const algorithm* each : settings.forced) wanted.push_back({0, each});
    return chooser(who.size, costs, std::move(wanted), settings.deterministic, who.hosts);
}

operation_pool::operation_pool(engine& owner, const engine_identity& who, const engine_settings& settings)
    : owner_(owner),
      who_(who),
      settings_(settings),
      past_caches_from_(past_caches_from(settings, who)),
      choose_(chooser_at(settings.costs, settings, who)) {}

void operation_pool::reprice() {
    choose_ = chooser_at(settings_.costs, settings_, who_);
    last_choice_ = {};
    for (auto& each : owned_) each->forget_layout();  // it is for a plan that may not be chosen any more
}

// ---- operations for calls

operation& operation_pool::make(const request& what) {
    if (operation* const before = begun_like_before(what)) return *before;
    prepared& ready = prepare(what);
    operation& made = first_of(ready.free);
    if (!made.begin_like_before(what)) make_ready(made, what, ready.compiled);
    made.what = describe(what);
    made.what.algorithm = ready.algorithm;
    made.kept_in = &ready.free;
    return made;
}

operation& operation_pool::make_unplanned(const request& what) {
    operation& made = first_of(unplanned_);
    make_ready(made, what, nullptr);
    made.what = describe(what);
    made.kept_in = &unplanned_;
    return made;
}

/// Returns an operation that has begun as a repeat of the last call on the same memory; null, with nothing changed, if this call is not
/// that. Then choice, plan and layout are skipped. The digest is compared first: another user's operator may lie at the address of the last
/// one.
operation* operation_pool::begun_like_before(const request& what) noexcept {
    if (!last_choice_.made) return nullptr;
    operation_list& free = last_choice_.made->free;
    if (!free.first()) collect();
    operation* const next = free.first();
    if (!next || next->what.digest != (what.digest ^ what.op.digest())) return nullptr;
    return next->begin_like_before(what) ? next : nullptr;
}

/// Returns the plan for a call: that of the last call if all that matters is equal, a cached one, or a new one.
operation_pool::prepared& operation_pool::prepare(const request& what) {
    const choice asked{what.kind, what.op.ordered(), what.root, vector_bytes(what, who_.size)};
    if (last_choice_.made && last_choice_.asked == asked) return *last_choice_.made;
    const algorithm& chosen = choose_.choose(asked.kind, asked.vector_bytes, asked.ordered);
    const auto number = static_cast<std::uint8_t>(tutti::number(chosen));
    prepared& found = plans_[{what.kind, number, what.root}];
    if (!found.compiled) {
        const auto other = std::find_if(plans_.begin(), plans_.end(), [&](const auto& each) {
            return each.first.kind == what.kind && each.first.algorithm == number && each.second.compiled;
        });
        found.compiled =
            compile(chosen, {who_.me, who_.size, what.root, &who_.hosts}, other == plans_.end() ? nullptr : other->second.compiled.get());
    }
    found.algorithm = number;
    last_choice_ = {asked, &found};
    return found;
}

/// Returns the first free operation of a list, or a new one. It stays in the list until it is ready, since memory may run out before.
operation& operation_pool::first_of(operation_list& free) {
    if (!free.first()) collect();
    if (!free.first()) {
        owned_.push_back(std::make_unique<operation>(owner_));
        free.push(*owned_.back());
    }
    return *free.first();
}

static std::size_t slice_bytes(const request& what, const engine_settings& by) noexcept {
    const bool reduced = by.reduced_slice_bytes > 0 && reduces(what.kind) && !what.allocated;
    return reduced ? by.reduced_slice_bytes : by.slice_bytes;
}

/// Returns the bytes of all blocks that this rank sends and receives, where only it knows them.
static std::size_t own_bytes(const request& what) noexcept {
    std::size_t count = what.counts.empty() ? what.count : 0;
    for (const auto each : {what.counts, what.recv_counts}) count = std::accumulate(each.begin(), each.end(), count);
    return count * what.element_bytes();
}

/// Makes an operation ready for a call, and decides the kind of its lanes: a pure function of what all ranks know. Ranks with their own
/// counts do not know the vector's length alike, so they always use bulk lanes.
void operation_pool::make_ready(operation& made, const request& what, const std::shared_ptr<const program>& compiled) {
    made.begin(what);
    if (compiled) made.follow(compiled, {slice_bytes(what, settings_), segment_of(settings_, who_), past_caches_from_});
    made.epoch = who_.epoch;
    const bool own = what.own_counts();
    made.vector_bytes = own ? own_bytes(what) : vector_bytes(what, who_.size);
    made.lanes = !own && made.vector_bytes <= settings_.small_bytes ? lane_kind::small : lane_kind::bulk;
}

// ---- out and back

/// Returns the list to which a free operation belongs.
operation_list& operation_pool::list_of(operation& which) noexcept { return which.call ? which.call->free : *which.kept_in; }

void operation_pool::take_out(operation& made) {
    if (!keeper_) keeper_ = owner_.shared_from_this();
    list_of(made).remove(made);
    ++out_;
}

bool operation_pool::take_back(operation& which) noexcept {
    operation* last = returned_.load(std::memory_order_relaxed);
    do {
        if (last == closed()) return false;
        which.life.next = last;
    } while (!returned_.compare_exchange_weak(last, &which, std::memory_order_release, std::memory_order_relaxed));
    return true;
}

std::shared_ptr<engine> operation_pool::put_back(operation& which) noexcept {
    put(which);
    return out_ == 0 ? std::move(keeper_) : nullptr;
}

void operation_pool::put(operation& which) noexcept {
    list_of(which).push(which);
    --out_;
}

/// Puts returned operations into their lists, the first that came back first: calls that take turns then find the memory that they had.
/// `instead`: what returned_ is afterwards.
void operation_pool::collect(operation* instead) noexcept {
    if (returned_.load(std::memory_order_relaxed) == closed()) return;
    operation* first = nullptr;
    for (operation* last = returned_.exchange(instead, std::memory_order_acquire); last;) {
        operation* const before = std::exchange(last->life.next, first);
        first = std::exchange(last, before);
    }
    while (first) put(*std::exchange(first, first->life.next));
}

void operation_pool::close() noexcept {
    collect(closed());
    if (out_ == 0) keeper_.reset();
}

/// Takes the longest scratch that is at most twice as long as needed; a shorter one is then freed by the new owner.
void operation_pool::take_scratch(operation& to, std::size_t bytes) noexcept {
    constexpr std::size_t long_bytes = 1 * MiB;  // shorter scratch stays with its operation
    operation* from = nullptr;
    std::size_t longest = long_bytes - 1;
    for (auto& [key, made] : plans_)
        for (operation* each = made.free.first(); each && bytes >= long_bytes; each = operation_list::after(*each))
            if (each != &to && each->scratch_bytes() > longest && each->scratch_bytes() / 2 <= bytes)
                from = each, longest = each->scratch_bytes();
    if (from) from->give_scratch(to);
}

// ---- persistent calls

/// If memory runs out before this has happened, the operation stays in the pool for any other call.
void operation_pool::adopt(detail::repeated_call& call, operation& made) {
    call.all.push_back(&made);
    made.kept_in->remove(made);
    made.call = &call;
    call.free.push(made);
}

operation& operation_pool::next_of(detail::repeated_call& call) {
    if (call.free.empty()) collect();
    if (call.free.empty()) {
        const operation& model = *call.all.front();
        operation& made = first_of(*model.kept_in);
        make_ready(made, model.asked, model.shared_program());
        made.what = model.what;
        made.kept_in = model.kept_in;
        adopt(call, made);
    }
    return *call.free.first();
}

void operation_pool::forget(detail::repeated_call& call) noexcept {
    collect();
    for (operation* each : call.all) {
        each->call = nullptr;
        each->forget_layout();  // it is perhaps for a plan that is not chosen any more
    }
    while (!call.free.empty()) {
        operation& one = call.free.pop();
        one.kept_in->push(one);
    }
}

}  // namespace tutti
