// How an engine fails: it keeps the first cause, ends every operation with it, and compares calls with those of its peers.
#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

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

void engine::fail_locked(report why, bool tell) noexcept {
    if (over()) return;
    failure_ = std::move(why);
    ports_.each([](port& each) { each.stop(); });
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

void engine::lost(rank peer, lane_id which, std::error_code why) noexcept {
    news_.lost.push_back({peer, which, why});
    post_news();
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

void engine::compare(rank peer, std::uint64_t sequence, const call_signature& theirs, std::string_view label) noexcept {
    const std::lock_guard lock(guard_);
    const call_signature* const mine = recent_.find(sequence);
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
