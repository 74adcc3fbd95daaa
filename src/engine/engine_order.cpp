// The order of an engine's calls: which places are taken, which are reserved, and when all calls before some moment have ended (sync).
#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace tutti {

// ---- places

std::uint64_t engine::reserve(std::size_t count) {
    const std::lock_guard lock(guard_);
    return order_.reserve(count);
}

std::uint64_t engine::calls() noexcept {
    const std::lock_guard lock(guard_);
    return order_.given_out();
}

/// Fails the engine: other ranks may have used their places, and wait in these calls.
void engine::give_up(std::uint64_t next, std::uint64_t end) noexcept {
    if (!made_.here() || next == end) return;
    const std::lock_guard lock(guard_);
    fail_own(error::aborted,
             fmt::format("rank {} gave up {} reserved place{} in the order, from #{} on, without a call{}", who_.me, end - next,
                         end - next == 1 ? "" : "s", next, std::uncaught_exceptions() > 0 ? ", because of an exception" : ""));
}

/// Returns the sentence for a call that cannot begin yet: this rank itself keeps it waiting.
std::string engine::behind_reserved(const operation& which) const {
    return fmt::format("{} #{}, which begins when rank {} has called what it reserved place #{} for", which.name(), which.sequence, who_.me,
                       order_.first_open());
}

/// Starts the timers of calls that cannot begin yet: their deadlines count, too.
void engine::watch_held() noexcept {
    for (operation* each = fresh_.first(); each; each = operation_list::after(*each))
        if (!each->deadline.started()) watch(*each);
}

// ---- all that was called before

future<> engine::sync() {
    const std::lock_guard lock(guard_);
    const std::uint64_t number = ++syncs_called_;
    auto [end, told] = detail::make_future([known = weak_from_this(), number] {
        if (const auto here = known.lock()) here->cancel_sync(number);
    });
    if (failure_ || shut_) {
        told.fail(failure(about_sync()));
    } else {
        syncs_.push_back({number, issued_, messages_.calls(), std::move(told)});
        post_syncs();
    }
    return std::move(end);
}

/// The future of a sync was cancelled, or dropped.
void engine::cancel_sync(std::uint64_t number) noexcept {
    std::optional<detail::future_source<>> told;
    {
        const std::lock_guard lock(guard_);
        const auto found = std::find_if(syncs_.begin(), syncs_.end(), [number](const sync_call& each) { return each.number == number; });
        if (found == syncs_.end()) return;
        told = std::move(found->told);
        syncs_.erase(found);
    }
    report why;
    why.code = error::cancelled;
    why.operation = "sync";
    why.communicator = who_.communicator;
    why.local = who_.me;
    why.cause = "it was cancelled";
    told->fail(failure(std::move(why)));
}

report engine::about_sync() const {
    report why = ending();
    why.operation = "sync";
    return why;
}

/// Returns whether one of the first `collectives` or `messages` has not ended, or its caller has not been told.
bool engine::under_way(std::uint64_t collectives, std::uint64_t messages) const noexcept {
    const auto before = [collectives](const operation& each) { return each.issued <= collectives; };
    for (const operation_list* in : {&live_, &fresh_, &ended_})
        for (const operation* each = in->first(); each; each = operation_list::after(*each))
            if (before(*each)) return true;
    return admission_.any_waits(before) || messages_.under_way(messages);
}

void engine::post_syncs() noexcept {
    if (syncs_.empty() || shut_ || std::exchange(syncs_posted_, true)) return;
    loop_.post(on_syncs_);
}

void engine::look_at_syncs() noexcept {
    {
        const std::lock_guard lock(guard_);
        syncs_posted_ = false;
    }
    settle_syncs();
}

/// Ends syncs, on the loop: there the callers of earlier calls have been told before.
void engine::settle_syncs() noexcept {
    std::vector<sync_call> over;
    std::optional<report> why;
    {
        const std::lock_guard lock(guard_);
        const auto waits = [this](const sync_call& each) { return !failure_ && !shut_ && under_way(each.collectives, each.messages); };
        const auto ended = std::stable_partition(syncs_.begin(), syncs_.end(), waits);
        over.assign(std::move_iterator(ended), std::move_iterator(syncs_.end()));
        syncs_.erase(ended, syncs_.end());
        if (failure_ || shut_) why = about_sync();
    }
    for (sync_call& each : over)
        if (why) each.told.fail(failure(*why));
        else each.told.set();
}

}  // namespace tutti
