// The engine's part on the progress loop: it waits for events and deadlines, and ends operations. When that loop is gone, the calling thread does it.
#include "gpu/device_engine.hpp"

#include "gpu/stuck.hpp"
#include "runtime/loop_local.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <utility>

namespace tutti::gpu {
namespace {

using news = operation_state::news;

double seconds(duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

void device_engine::attach() {
    struct end_with_loop {
        std::weak_ptr<device_engine> whose;
        ~end_with_loop() {
            if (const auto engine = whose.lock()) engine->progress_ended();
        }
    };
    const auto self = shared_from_this();
    auto made = std::make_shared<end_with_loop>();
    made->whose = self;
    detail::loop_local(*progress_, self) = std::move(made);
}

// ---- operations

void device_engine::arrived_for_polling(operation_state& which) noexcept {
    if (!which.has_event()) return arrived_for_end(which);
    event_loop* where = nullptr;
    {
        const std::lock_guard lock(guard_);
        which.heard = news::watched;
        where = polls();
    }
    const auto sort = static_cast<std::uint32_t>(which.what.kind);
    poller::of(card_, *where).add(which.arrival(kind_of(sort, which.what.total() * which.what.element_bytes())));
}

void device_engine::came(operation_state& which, const failure* why) noexcept {
    which.fault = why;
    if (!apart_) return arrived_for_end(which);
    {
        const std::lock_guard lock(guard_);
        if (progress_) {
            which.heard = news::come;
            return progress_->post(which.to_end());
        }
    }
    forsaken(which);
}

void device_engine::arrived_for_end(operation_state& which) noexcept {
    on_device_.fetch_sub(1, std::memory_order_relaxed);
    if (which.fault) blame(*which.fault, &which);
    bool failed = false;
    {
        const std::lock_guard lock(guard_);
        which.heard = news::none;
        failed = why_.has_value();
        if (failed && !swept_) return;  // kept until the abort has returned
    }
    if (!failed) which.end(nullptr);
    drop(which);
    rest_if_done();
}

void device_engine::forsaken(operation_state& which) noexcept {
    const auto self = shared_from_this();  // a thread that abandons everything meanwhile may hold the last reference
    on_device_.fetch_sub(1, std::memory_order_relaxed);
    {
        const std::lock_guard lock(guard_);
        which.heard = news::none;
        if (!swept_) return;
    }
    drop(which);
    rest_if_done();
}

/// Releases the buffers first, without the guard, because their keep-alives are the user's code.
void device_engine::drop(operation_state& which) noexcept {
    std::vector<waiter> idle;
    {
        const std::lock_guard lock(guard_);
        under_way_.remove(which);
        if (which.collective != 0) --collectives_under_way_;
        // The one behind it begins with fresh patience.
        const bool asked = which.patience > operation_state::first_patience;
        if (asked && !why_ && !is_over_ && !std::exchange(tend_posted_, true)) post(tend_);
        if (--under_way_count_ == 0) {
            idle.swap(idle_);
            if (progress_ && !why_ && !closing_) {
                progress_->stop_timer(timer_);
                armed_ = no_deadline;
            }
            if (closed_ && !why_ && !is_over_) end_well();
        }
    }
    which.let_go();
    for (waiter& each : idle) each.ends.set();
}

// ---- deadlines

void device_engine::tend() noexcept {
    const std::lock_guard lock(guard_);
    tend_posted_ = false;
    if (is_over_ || !progress_) return;
    armed_ = stuck_at_;
    if (!why_ && starting_) armed_ = std::min(armed_, start_by_);
    if (!why_) armed_ = std::min(armed_, told_by_);
    if (!why_)
        for (const waiter& each : idle_) armed_ = std::min(armed_, each.limit);
    if (!why_)
        for (const operation_state* each = under_way_.first(); each; each = decltype(under_way_)::after(*each))
            armed_ = std::min(armed_, each->deadline);
    if (const operation_state* const first = why_ ? nullptr : first_collective())
        armed_ = std::min(armed_, first->issued + first->patience);
    progress_->stop_timer(timer_);
    if (armed_ != no_deadline) progress_->start_timer(timer_, armed_);
}

void device_engine::dated() noexcept {
    const time_point at = progress_->now();
    std::optional<report> late;
    bool stuck = false;
    {
        const std::lock_guard lock(guard_);
        if (is_over_) return;
        stuck = stuck_at_ <= at;
        const bool closes = std::any_of(idle_.begin(), idle_.end(), [at](const waiter& each) { return each.limit <= at; });
        const operation_state* first = why_ || stuck ? nullptr : under_way_.first();
        while (first && !closes && first->deadline > at) first = decltype(under_way_)::after(*first);
        const bool unstarted = starting_ && !why_ && start_by_ <= at;
        if (first || unstarted || (stuck && !why_)) {
            late.emplace();
            late->code = error::timed_out;
            late->peers = {how_.me};
        }
        if (first && closes)
            late->cause =
                fmt::format("rank {} closed its communicator, in which {} #{}, {} {}, did not end in time", how_.me, to_string(first->what),
                            first->sequence, first->is_placed() ? "enqueued" : "not yet enqueued", place());
        else if (first)
            late->cause =
                fmt::format("rank {}: {} #{}, {} {}, has not ended for {:.1f} s", how_.me, to_string(first->what), first->sequence,
                            first->is_placed() ? "enqueued" : "not yet enqueued", place(), seconds(at - first->issued));
        else if (unstarted) late->cause = fmt::format("rank {}: not all ranks have come to {} in time", how_.me, carrier_->what());
        else if (late)
            late->cause = fmt::format("rank {}: ending {} takes longer than {:.1f} s", how_.me, carrier_->what(), seconds(how_.stuck));
        if (suspected_ && !why_ && (late || told_by_ <= at)) late = suspected_;
    }
    if (late) fail(std::move(*late));
    else if (stuck) give_up();
    else ask(at);
    if (!stuck || late) tend();
}

operation_state* device_engine::first_collective() const noexcept {
    operation_state* each = under_way_.first();
    while (each && each->collective == 0) each = decltype(under_way_)::after(*each);
    return each;
}

/// NCCL does not notice calls that differ: their ranks wait for each other. So a rank that waits tells the other ranks in which collective, at growing
/// intervals.
void device_engine::ask(time_point at) noexcept {
    std::uint64_t number = 0;
    call_signature what;
    {
        const std::lock_guard lock(guard_);
        operation_state* const first = why_ ? nullptr : first_collective();
        if (!first || first->issued + first->patience > at) return;
        first->patience *= 2;
        number = first->collective;
        what = describe(first->what);
    }
    if (how_.ask) how_.ask(number, what);
}

/// Ends all waits although the carrier has not ended. The memory that may still be used is leaked with its keep-alives.
void device_engine::give_up() noexcept {
    report why = *failed();
    why.cause += fmt::format("; and rank {} could not abort {} within {:.1f} s: what it uses is leaked", how_.me, carrier_->what(),
                             seconds(how_.stuck));
    {
        const std::lock_guard lock(guard_);
        if (!std::exchange(given_up_, true)) stuck::keep(std::move(self_));
    }
    end_all(why);
}

// ---- the end

/// Ends all operations, if there is a failure, and all other waits.
void device_engine::end_all(const std::optional<report>& why) noexcept {
    std::optional<promise> starting, closed;
    std::vector<waiter> idle;
    operation_state* first = nullptr;
    {
        const std::lock_guard lock(guard_);
        told_ = why.has_value();
        starting = std::exchange(starting_, std::nullopt);
        closed = std::exchange(closed_, std::nullopt);
        idle.swap(idle_);
        first = under_way_.first();  // no other is added after a failure, nor taken away by anybody else
    }
    if (!why) {
        if (closed) closed->set();
        return;
    }
    for (operation_state* each = first; each; each = decltype(under_way_)::after(*each)) {
        const failure mine = told(*why, each);
        each->end(&mine);
    }
    const failure all = told(*why, nullptr);
    if (starting) starting->fail(all);
    if (closed) closed->fail(all);
    for (waiter& each : idle) each.ends.fail(all);
}

void device_engine::over_now() noexcept {
    const auto self = shared_from_this();
    std::optional<report> why;
    {
        const std::lock_guard lock(guard_);
        is_over_ = true;
        why = why_;
        armed_ = no_deadline;
        if (progress_) {
            progress_->withdraw(tend_);
            progress_->stop_timer(timer_);
        }
    }
    end_all(why);
    std::vector<operation_state*> left;
    {
        const std::lock_guard lock(guard_);
        swept_ = true;
        for (operation_state* each = under_way_.first(); each; each = decltype(under_way_)::after(*each))
            if (each->heard == news::none) left.push_back(each);
    }
    for (operation_state* each : left) drop(*each);
    rest_if_done();
}

/// Releases the engine's reference to itself, perhaps the last one, when the carrier and all operations have ended.
void device_engine::rest_if_done() noexcept {
    std::shared_ptr<device_engine> self;
    const std::lock_guard lock(guard_);
    if (!is_over_ || under_way_count_ > 0) return;
    self = given_up_ ? shared_from_this() : std::move(self_);
    if (std::exchange(given_up_, false)) stuck::let_go(this);
}

void device_engine::progress_ended() noexcept {
    report why;
    why.code = error::closed;
    why.cause = "the event loop that waited for the device is gone";
    std::vector<operation_state*> left;
    {
        const std::lock_guard lock(guard_);
        left = leave_progress();
        leaving_ = !is_over_;
    }
    if (leaving_) {
        fail(why);
        if (!card_) hand_over();
        if (const auto first = failed()) end_all(first);
    }
    for (operation_state* each : left) arrived_for_end(*each);
    bool last = false;
    {
        const std::lock_guard lock(guard_);
        last = std::exchange(leaving_, false) && has_ended_;
    }
    if (last) over_now();
}

/// Detaches from the progress loop, which runs nothing any more. Returns the operations whose events nothing reports now. With the guard.
std::vector<operation_state*> device_engine::leave_progress() {
    event_loop& gone = *std::exchange(progress_, nullptr);
    for (detail::runnable* each : {static_cast<detail::runnable*>(&tend_), static_cast<detail::runnable*>(&over_)}) gone.withdraw(*each);
    gone.stop_timer(timer_);
    std::vector<operation_state*> left;
    const bool polled_there = !apart_ || apart_ == &gone;
    for (operation_state* each = under_way_.first(); each; each = decltype(under_way_)::after(*each)) {
        const bool asks = each->heard == news::asking && (polled_there || !each->has_event());
        if (!asks && each->heard != news::come) continue;
        gone.withdraw(asks ? each->to_poll() : each->to_end());
        left.push_back(each);
    }
    if (card_) return left;
    for (detail::runnable* each : std::initializer_list<detail::runnable*>{&begin_, &finish_, &hand_over_}) gone.withdraw(*each);
    for (operation_state* each = under_way_.first(); each; each = decltype(under_way_)::after(*each)) gone.withdraw(each->to_issue());
    return left;
}

}  // namespace tutti::gpu
