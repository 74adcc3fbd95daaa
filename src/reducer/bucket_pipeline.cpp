#include "reducer/bucket_pipeline.hpp"

#include <tutti/event_loop.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace tutti {
namespace {

/// Keeps the memory of an operation until its end, then deletes itself.
class last_waiter final : public detail::runnable {
public:
    static void wait(detail::state_reference what, std::shared_ptr<const void> memory) {
        auto* const waiter = new last_waiter(std::move(what), std::move(memory));
        if (!waiter->what_->wait(*waiter)) delete waiter;
    }

private:
    last_waiter(detail::state_reference what, std::shared_ptr<const void> memory) noexcept
        : what_(std::move(what)), memory_(std::move(memory)) {}
    ~last_waiter() = default;
    void run() noexcept override { delete this; }

    const detail::state_reference what_;
    const std::shared_ptr<const void> memory_;
};

}  // namespace

time_point current_time() noexcept {
    const event_loop* loop = event_loop::current();
    return loop ? loop->now() : time_point(std::chrono::steady_clock::now());
}

// ---- one operation

bucket_pipeline::watcher::~watcher() {
    if (state_ && watched_ && !state_->stop_waiting(*this)) state_->settle();
}

void bucket_pipeline::watcher::start(future<> what) noexcept {
    state_ = what.take_state();
    ended_ = false;
    watched_ = true;  // before the wait, because the end may come during it
    if (!state_->wait(*this)) watched_ = false;
}

void bucket_pipeline::watcher::cancel() noexcept {
    if (state_ && !state_->done()) state_->cancel();
}

void bucket_pipeline::watcher::forget() noexcept {
    if (!state_ || !state_->done()) return;
    if (watched_) state_->settle();
    state_->look();
    state_ = {};
}

void bucket_pipeline::watcher::leave(std::shared_ptr<const void> memory) {
    if (state_ && watched_ && state_->stop_waiting(*this)) last_waiter::wait(std::move(state_), std::move(memory));
}

void bucket_pipeline::gate::open() noexcept {
    finish();
    release();
}

// ---- life

bucket_pipeline::bucket_pipeline(bucket_carrier& with, std::size_t buckets, std::size_t live) : with_(with), most_(live) {
    for (std::size_t which = 0; which < buckets; ++which) buckets_.emplace_back(*this);
    plan_comparison comparison = with.compare();
    auto end = with.end();
    compared_memory_ = std::move(comparison.memory);
    const std::lock_guard lock(guard_);
    comparing_.start(std::move(comparison.end));
    if (comparing_.missed()) note_end(comparing_);
    if (!end.valid()) return;
    ending_.start(std::move(end));
    if (ending_.missed()) note_end(ending_);
}

bucket_pipeline::~bucket_pipeline() {
    {
        const std::lock_guard lock(guard_);
        closed_ = true;
    }
    if (compared_memory_) comparing_.leave(std::move(compared_memory_));
    settle();
}

// ---- leaving and ending

void bucket_pipeline::full(std::size_t bucket) {
    const std::lock_guard lock(guard_);
    buckets_[bucket].full = true;
    launch();
}

void bucket_pipeline::launch() {
    while (agreed_ && !why_ && !closed_ && next_ < buckets_.size() && buckets_[next_].full && live_ < most_) {
        bucket_state& one = buckets_[next_];
        if (one.under_way.pending() || one.completing.pending()) return;  // since the step before; its end launches again
        one.full = one.landed = false;
        const std::size_t bucket = next_++;
        ++live_;
        auto landing = with_.leave(bucket);
        auto completion = with_.completion(bucket);
        if (completion.valid()) {
            one.completing.start(std::move(completion));
            if (one.completing.missed()) note_end(one.completing);
        } else {
            note_complete(one);
        }
        one.under_way.start(std::move(landing));
        if (cancelled_) one.under_way.cancel();
        if (one.under_way.missed()) note_end(one.under_way);
    }
}

void bucket_pipeline::note_end(watcher& which) noexcept {
    if (!which.note_end()) return;
    bucket_state* const of = which.of();
    if (of && &which == &of->completing) return note_complete(*of);  // the bucket itself reports a failure
    if (const failure* why = which.why(); why && (!why_ || (vague_ && of))) {
        why_ = *why;
        vague_ = &which == &ending_;
    }
    if (of) return note_landed(*of);
    if (&which == &ending_) {
        over_ = true;
        return;
    }
    compared_ = true;
    agreed_ = !why_ && with_.agreed();
}

void bucket_pipeline::note_complete(bucket_state& which) noexcept {
    if (which.landed || std::exchange(which.moving, true)) return;
    completed_ = current_time();
    if (moving_++ == 0) busy_since_ = completed_;
}

void bucket_pipeline::note_landed(bucket_state& which) noexcept {
    note_complete(which);  // the end of completion() may come later
    which.moving = false;
    which.landed = true;
    --live_;
    const time_point now = current_time();
    if (--moving_ == 0) busy_ += std::max(duration(), now - busy_since_);
    if (++ended_ < buckets_.size()) return;
    ended_ = 0;
    const duration busy = std::exchange(busy_, {});
    if (!why_) with_.landed(busy, std::max(duration(), now - completed_));
}

/// Runs on the thread that ends the operation. launch() may start the next step's operation of this bucket here. So a later done() does not
/// show that this call has returned.
void bucket_pipeline::ended(watcher& which) noexcept {
    bool opens = false;
    {
        const std::lock_guard lock(guard_);
        note_end(which);
        launch();
        opens = opens_now();
    }
    if (opens) open();
}

// ---- waiting

bool bucket_pipeline::opens_now() noexcept {
    if (goal_ == goal::none || !reached(goal_)) return false;
    goal_ = goal::none;
    opening_.store(true, std::memory_order_relaxed);
    return true;
}

void bucket_pipeline::open() noexcept {
    gate_.open();
    opening_.store(false, std::memory_order_release);
}

void bucket_pipeline::settle() const noexcept {
    while (opening_.load(std::memory_order_acquire)) std::this_thread::yield();
}

bool bucket_pipeline::reached(goal what) const noexcept {
    if (!compared_ && !over_) return false;
    if (what == goal::compared) return true;
    const bool all_left = why_ || !agreed_ || next_ == buckets_.size();
    return all_left && (what == goal::left || live_ == 0);
}

bool bucket_pipeline::wait_needed(goal what) {
    const std::lock_guard lock(guard_);
    if (reached(what)) return false;
    goal_ = what;
    gate_.close();
    return true;
}

task<> bucket_pipeline::until(goal what) {
    settle();
    if (wait_needed(what)) {
        future<> opening(gate_);
        co_await opening;
    }
    if (what == goal::compared) comparing_.forget();
}

task<> bucket_pipeline::compared() { return until(goal::compared); }
task<> bucket_pipeline::left() { return until(goal::left); }

task<> bucket_pipeline::landed() {
    auto all = until(goal::landed);
    co_await std::move(all);
    comparing_.forget();
    for (bucket_state& each : buckets_) each.under_way.forget();
}

void bucket_pipeline::cancel() noexcept {
    comparing_.cancel();
    const bool together = with_.give_up();
    bool opens = false;
    {
        const std::lock_guard lock(guard_);
        if (together) {
            if (!why_) why_.emplace(error::cancelled, "nobody waits for the buckets any more");
            opens = opens_now();
        } else {
            cancelled_ = true;
            for (bucket_state& each : buckets_) each.under_way.cancel();
        }
    }
    if (opens) open();
}

void bucket_pipeline::explain(detail::explanation& out) const {
    const std::lock_guard lock(guard_);
    if (!compared_) out.line("the comparison of buckets");
    else out.line(fmt::format("{} buckets under way, {} of {} have left", live_, next_, buckets_.size()));
}

// ---- between steps

std::optional<failure> bucket_pipeline::why() const {
    const std::lock_guard lock(guard_);
    return why_;
}

void bucket_pipeline::renew() {
    const std::lock_guard lock(guard_);
    next_ = 0;
}

}  // namespace tutti
