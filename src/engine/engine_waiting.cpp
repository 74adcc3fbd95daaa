// How an engine waits: the timers of its operations, questions to the neighbours, warnings to the user, and deadlines.
#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

static double seconds(duration time) noexcept { return std::chrono::duration<double>(time).count(); }

/// Returns the first operation under way on such lanes; null if there is none.
operation* engine::first_live(lane_kind lanes) const noexcept {
    operation* first = live_.first();
    while (first && first->lanes != lanes) first = operation_list::after(*first);
    return first;
}

/// Returns the sentence for a call that cannot begin yet: this rank itself keeps it waiting.
std::string engine::behind_reserved(const operation& which) const {
    return fmt::format("{} #{}, which begins when rank {} has called what it reserved place #{} for", which.name(), which.sequence, who_.me,
                       order_.first_open());
}

/// Returns the sentence that reports a collective which waits.
std::string engine::about_stall(const operation& which, duration waited) const {
    const std::string label = which.asked.label ? fmt::format(" '{}'", which.asked.label) : "";
    return fmt::format("{} #{}{} has waited {:.0f} s for {}", which.name(), which.sequence, label, seconds(waited),
                       name_ranks(which.awaited()));
}

/// Sets an operation's timer to the next of three events: its deadline, the next question to the neighbours, the next warning.
void engine::watch(operation& which) noexcept {
    const time_point next = std::min(later(which.started, which.asked.deadline), which.patience.next(which.started));
    if (next != no_deadline) loop_.start_timer(which.deadline, next);
}

/// Starts the timers of calls that cannot begin yet: their deadlines count, too.
void engine::watch_held() noexcept {
    for (operation* each = fresh_.first(); each; each = operation_list::after(*each))
        if (!each->deadline.started()) watch(*each);
}

/// Fails because an operation takes too long. If it waits for an earlier one, that one's peers are to blame.
void engine::time_out(operation& which) noexcept {
    const double waited = seconds(which.asked.deadline);
    if (order_.holds(which.sequence)) {
        fail_own(error::timed_out, fmt::format("rank {} waited {:g} s in {}", who_.me, waited, behind_reserved(which)));
        return;
    }
    const operation* const before = admission_.keeps(which.lanes, which.sequence) ? first_live(which.lanes) : nullptr;
    const operation& slow = before ? *before : which;
    const std::string behind = before ? fmt::format(", which begins when {} #{} has ended,", slow.name(), slow.sequence) : "";
    report why;
    why.code = error::timed_out;
    why.peers = slow.awaited();
    why.cause = fmt::format("rank {} waited {:g} s in {} #{}{} for {}", who_.me, waited, which.name(), which.sequence, behind,
                            name_ranks(why.peers));
    fail_locked(std::move(why));
}

void engine::overdue(operation& which) noexcept {
    label_text label;
    bool asks = false;
    std::string stall;
    {
        const std::lock_guard lock(guard_);
        if (which.ended) return;
        const duration passed = loop_.now() - which.started;
        if (passed >= which.asked.deadline) {
            time_out(which);
            return;
        }
        asks = which.patience.asks(passed);
        const bool warns = which.patience.warns(passed);
        watch(which);
        if (order_.holds(which.sequence)) {
            asks = false;
            if (warns && &which == fresh_.first()) stall = fmt::format("{} has waited {:.0f} s", behind_reserved(which), seconds(passed));
        } else if (&which != first_live(which.lanes)) {
            return;  // it waits for an earlier operation, which asks itself
        } else if (warns) {
            stall = about_stall(which, passed);
        }
        if (which.what.label != 0) label.set(which.asked.label);
    }
    if (asks) observer_->waits(which.sequence, which.what, label.view());
    if (!stall.empty()) observer_->stalls(stall);
}

}  // namespace tutti
