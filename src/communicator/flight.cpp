#include "communicator/flight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace tutti {

time_point current_time() noexcept {
    const event_loop* loop = event_loop::current();
    return loop ? loop->now() : time_point(std::chrono::steady_clock::now());
}

// ---- one operation

flight::watcher::~watcher() {
    if (state_ && watched_ && !state_->stop_waiting(*this)) state_->settle();
}

void flight::watcher::start(future<> what) noexcept {
    state_ = what.take_state();
    watched_ = true;  // before the wait, because the end may come during it
    if (!state_->wait(*this)) watched_ = false;
}

void flight::watcher::cancel() noexcept {
    if (state_ && !state_->done()) state_->cancel();
}

void flight::watcher::forget() noexcept {
    if (!state_) return;
    if (watched_) state_->settle();
    state_ = {};
}

void flight::gate::open() noexcept {
    finish();
    release();
}

// ---- life

flight::flight(communicator& over, std::span<const bucket> buckets, const reducer_options& how, agreement& plans)
    : over_(over), buckets_(buckets), how_(how), plans_(plans) {
    for (std::size_t which = 0; which < buckets.size(); ++which) legs_.emplace_back(*this, buckets[which].bytes(), fmt::format("bucket {}", which));
    auto comparison = plans_.compare();
    const std::lock_guard lock(guard_);
    comparing_.start(std::move(comparison));
    if (comparing_.missed()) note_end(comparing_);
}

flight::~flight() {
    const std::lock_guard lock(guard_);
    closed_ = true;
}

// ---- leaving and ending

void flight::full(std::size_t bucket) {
    const std::lock_guard lock(guard_);
    legs_[bucket].full = true;
    launch();
}

void flight::launch() {
    while (agreed_ && !why_ && !closed_ && next_ < buckets_.size() && legs_[next_].full && live_ < how_.live) {
        leg& one = legs_[next_];
        const bucket& what = buckets_[next_++];
        call_options options;
        options.deadline = how_.deadline;
        options.label = one.label.c_str();
        if (live_++ == 0) busy_since_ = current_time();
        one.under_way.start(over_.all_reduce(buffer(one.memory.data(), what.count, what.type), how_.op, options));
        if (cancelled_) one.under_way.cancel();
        if (one.under_way.missed()) note_end(one.under_way);
    }
}

void flight::note_end(const watcher& which) noexcept {
    if (const failure* why = which.why(); why && !why_) why_ = *why;
    if (&which == &comparing_) {
        compared_ = true;
        agreed_ = !why_ && plans_.reached();
    } else if (--live_ == 0) {
        busy_ += std::max(duration(), current_time() - busy_since_);
    }
}

/// On the thread that ends the operation. When the gate opens, nothing here may be touched afterwards.
void flight::ended(const watcher& which) noexcept {
    bool opens = false;
    {
        const std::lock_guard lock(guard_);
        note_end(which);
        launch();
        opens = goal_ != goal::none && reached(goal_);
        if (opens) goal_ = goal::none;
    }
    if (opens) gate_.open();
}

// ---- waiting

bool flight::reached(goal what) const noexcept {
    if (!compared_ || what == goal::compared) return compared_;
    return live_ == 0 && (why_ || !agreed_ || next_ == buckets_.size());
}

bool flight::wait_needed(goal what) {
    const std::lock_guard lock(guard_);
    if (reached(what)) return false;
    goal_ = what;
    gate_.close();
    return true;
}

task<> flight::until(goal what) {
    if (wait_needed(what)) {
        future<> opening(gate_);
        co_await opening;
    }
    if (what == goal::compared) comparing_.forget();
}

task<> flight::compared() { return until(goal::compared); }

task<> flight::landed() {
    auto all = until(goal::landed);
    co_await std::move(all);
    comparing_.forget();
    for (leg& each : legs_) each.under_way.forget();
}

void flight::cancel() noexcept {
    const std::lock_guard lock(guard_);
    cancelled_ = true;
    comparing_.cancel();
    for (leg& each : legs_) each.under_way.cancel();
}

void flight::explain(detail::explanation& out) const {
    const std::lock_guard lock(guard_);
    if (!compared_) out.line("the comparison of buckets");
    else out.line(fmt::format("{} buckets under way, {} of {} have left", live_, next_, legs_.size()));
}

// ---- between steps

std::optional<failure> flight::why() const {
    const std::lock_guard lock(guard_);
    return why_;
}

duration flight::busy() const {
    const std::lock_guard lock(guard_);
    return busy_;
}

void flight::renew() {
    const std::lock_guard lock(guard_);
    next_ = 0;
    busy_ = {};
    for (leg& each : legs_) each.full = false;
}

}  // namespace tutti
