// How an engine fails: it keeps the first cause, ends every operation with it, and compares calls with those of its peers.
#include "engine/engine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace tutti {

void engine::fail_and_tell(report why) noexcept {
    if (!made_.here()) return;
    const std::lock_guard lock(guard_);
    fail_locked(std::move(why));
}

void engine::fail(report why) noexcept {
    if (!made_.here()) return;
    const std::lock_guard lock(guard_);
    fail_locked(std::move(why), false);
}

/// Keeps the first cause, stops all lanes, and ends all calls. `tell`: the failure was found here, so the observer must spread it.
void engine::fail_locked(report why, bool tell) noexcept {
    if (over()) return;
    failure_ = std::move(why);
    for (auto& each : ports_)
        if (each) each->stop();
    messages_.end_all();
    end_all();
    if (tell) news_.failed = failure_;
    post_news();
}

/// Fails for a reason that lies with this rank.
void engine::fail_own(error code, std::string cause) noexcept { fail_locked(who_.own_failure(code, std::move(cause))); }

std::optional<report> engine::failed() noexcept {
    const std::lock_guard lock(guard_);
    return failure_;
}

void engine::drop() noexcept {
    if (!made_.here()) return;
    const std::lock_guard lock(guard_);
    if (over() || (pending_ == 0 && !messages_.first_under_way())) return;
    fail_own(error::aborted, fmt::format("rank {} dropped communicator {} with operations under way", who_.me, who_.communicator));
}

std::optional<std::string> engine::unfinished() noexcept {
    const std::lock_guard lock(guard_);
    for (const operation_list* in : {&live_, &fresh_})
        if (const operation* const first = in->first()) return fmt::format("{} #{}", first->name(), first->sequence);
    if (const message* const first = messages_.first_under_way()) return to_string(first->asked);
    return std::nullopt;
}

void engine::end_all() noexcept {
    while (operation* const waiting = admission_.drop()) live_.push(*waiting);
    for (operation_list* from : {&live_, &fresh_})
        while (!from->empty()) {
            operation& next = from->pop();
            next.failed = failure(report_of(next));
            next.ended = true;
            if (ended_.empty() && !shut_) loop_.post(on_ended_);
            ended_.push(next);
        }
}

report engine::ending() const {
    report why = failure_.value_or(report{});
    if (!failure_) {
        why.code = error::closed;
        why.cause = "the communicator was closed";
    }
    why.communicator = who_.communicator;
    why.epoch = who_.epoch;
    why.local = who_.me;
    return why;
}

/// Returns the same as this operation tells it.
report engine::report_of(const operation& which) const {
    report why = ending();
    why.operation = which.name();
    why.sequence = which.sequence;
    why.done_bytes = which.done_bytes();
    why.total_bytes = which.total_bytes();
    if (which.sequence != 0 && !shut_) why.elapsed = loop_.now() - which.started;  // after shut_down the loop may be gone
    if (which.asked.label) why.label = which.asked.label;
    return why;
}

void engine::cancel(operation& which, const char* reason) noexcept {
    if (!made_.here()) return;
    const std::lock_guard lock(guard_);
    if (which.ended) return;
    fail_own(error::cancelled, fmt::format("rank {} ended {} #{} early: {}", who_.me, which.name(), which.sequence, reason));
}

void engine::operator_threw(operation& which, const char* what) noexcept {
    std::string cause = fmt::format("operator '{}' threw on rank {} in {} #{}: {}", which.asked.op.user()->name(), who_.me, which.name(),
                                    which.sequence, what);
    std::replace(cause.begin(), cause.end(), '\n', ' ');  // a failure is one line
    fail_own(error::aborted, std::move(cause));
}

/// Returns the first operation under way on such lanes; null if there is none.
operation* engine::first_live(lane_kind lanes) const noexcept {
    operation* first = live_.first();
    while (first && first->lanes != lanes) first = operation_list::after(*first);
    return first;
}

/// Names the peers of the first round that has not ended; those of later rounds are not to blame yet.
std::string engine::waited_for(operation& which, std::vector<rank>& peers) const {
    int first = std::numeric_limits<int>::max();
    const auto add = [&](const cursor& at) {
        if (at.ended() || at.round() > first) return;
        if (at.round() < first) peers.clear();
        first = at.round();
        if (std::find(peers.begin(), peers.end(), at.peer()) == peers.end()) peers.push_back(at.peer());
    };
    for (const recv_channel& each : which.receivers()) add(each.at);
    for (const send_channel& each : which.senders()) add(each.at);
    return fmt::format("{} {}", peers.size() == 1 ? "rank" : "ranks", fmt::join(peers, ", "));
}

/// Sets an operation's timer to the next of three events: its deadline, the next question to the neighbours, the next report to the user.
/// Ranks that disagree may wait for each other without a frame between them, so a rank that waits asks. The intervals double.
void engine::watch(operation& which) noexcept {
    time_point next = later(which.started, which.asked.deadline);
    if (which.patience <= last_patience) next = std::min(next, which.started + which.patience);
    if (which.warning != duration{}) next = std::min(next, later(which.started, which.warning));
    if (next != no_deadline) loop_.start_timer(which.deadline, next);
}

/// Returns the sentence that reports a collective which waits.
std::string engine::about_stall(operation& which, duration waited) const {
    std::vector<rank> peers;
    const std::string label = which.asked.label ? fmt::format(" '{}'", which.asked.label) : "";
    return fmt::format("{} #{}{} has waited {:.0f} s for {}", which.name(), which.sequence, label,
                       std::chrono::duration<double>(waited).count(), waited_for(which, peers));
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
            report why;
            why.code = error::timed_out;
            const auto waited = std::chrono::duration<double>(which.asked.deadline).count();
            operation* const before = admission_.keeps(which.lanes, which.sequence) ? first_live(which.lanes) : nullptr;
            operation& slow = before ? *before : which;
            const std::string behind = before ? fmt::format(", which begins when {} #{} has ended,", slow.name(), slow.sequence) : "";
            if (order_.holds(which.sequence)) {
                why.root = who_.me;
                why.peers = {who_.me};
                why.cause = fmt::format("rank {} waited {:g} s in {}", who_.me, waited, behind_reserved(which));
            } else {
                why.cause = fmt::format("rank {} waited {:g} s in {} #{}{} for {}", who_.me, waited, which.name(), which.sequence, behind,
                                        waited_for(slow, why.peers));
            }
            fail_locked(std::move(why));
            return;
        }
        asks = which.patience <= last_patience && passed >= which.patience;
        const bool tells = which.warning != duration{} && passed >= which.warning;
        if (asks) which.patience *= 2;
        if (tells) which.warning = twice(which.warning);
        watch(which);
        if (order_.holds(which.sequence)) {
            asks = false;
            if (tells && &which == fresh_.first())
                stall = fmt::format("{} has waited {:.0f} s", behind_reserved(which), std::chrono::duration<double>(passed).count());
        } else if (&which != first_live(which.lanes)) {
            return;  // it waits for an earlier operation, which asks itself
        } else if (tells) {
            stall = about_stall(which, passed);
        }
        if (which.what.label != 0) label.set(which.asked.label);
    }
    if (asks) observer_->waits(which.sequence, which.what, label.view());
    if (!stall.empty()) observer_->stalls(stall);
}

void engine::compare(rank peer, std::uint64_t sequence, const descriptor& theirs, std::string_view label) noexcept {
    const std::lock_guard lock(guard_);
    const descriptor* const mine = recent_.find(sequence);
    if (mine && *mine != theirs) disagreed({peer, sequence, *mine, theirs}, label);
}

/// Fails with both calls in words. If they differ in the label only, and the words of theirs are not known, the peer is sent ours first; it
/// compares, and fails in the words of both.
void engine::disagreed(const differing_call& found, std::string_view label) noexcept {
    if (found.theirs.label == 0 || !label.empty() || !differ_in_label(found.mine, found.theirs)) {
        fail_locked(recent_.mismatch(found, label));
    } else if (recent_.ask_about(found)) {
        news_.question = {found.peer, found.sequence, found.mine, std::string(recent_.label_of(found.sequence))};
        post_news();
    }
}

void engine::unanswered() noexcept {
    const std::lock_guard lock(guard_);
    if (!over()) fail_locked(recent_.unanswered());
}

}  // namespace tutti
