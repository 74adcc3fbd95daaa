// How messages end other than well: peers that leave, failures, cancellation, deadlines; and what their callers are told.
#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

// ---- lanes

void messenger::attach(rank peer, std::unique_ptr<link> over) {
    message_port& at = port_to(peer);
    if (at.attached()) return;
    at.attach(std::move(over));
    if (said_goodbye_) at.say_goodbye();
}

const message* messenger::first_under_way() const noexcept {
    for (const message_list* in : {&live_, &fresh_})
        for (const message* each = in->first(); each; each = message_list::after(*each))
            if (each->asked.what != message_call::kind::probe) return each;
    return nullptr;
}

bool messenger::under_way(std::uint64_t calls) const noexcept {
    for (const message_list* in : {&live_, &fresh_, &ended_})
        for (const message* each = in->first(); each; each = message_list::after(*each))
            if (each->call <= calls && each->asked.what != message_call::kind::probe) return true;
    return false;
}

void messenger::say_goodbye() noexcept {
    if (std::exchange(said_goodbye_, true)) return;  // the first one's frames may still be queued
    for (auto& each : ports_)
        if (each) each->say_goodbye();
}

bool messenger::flushed() const noexcept {
    return std::all_of(ports_.begin(), ports_.end(), [](const auto& each) { return !each || each->flushed(); });
}

void messenger::close() noexcept {
    for (auto& each : ports_)
        if (each) each->close();
}

void messenger::shut_down() noexcept {
    close();
    dirty_.clear();
    for (auto& each : ports_) each.reset();  // the loop may end before the engine does
}

void messenger::withdraw() noexcept {
    engine_.loop().withdraw(on_work_);
    engine_.loop().withdraw(on_ended_);
}

void messenger::lost(rank peer, std::error_code why) noexcept { engine_.lost(peer, lane_kind::point, why); }

// ---- peers that leave

void messenger::peer_left(rank peer) noexcept {
    message_port& at = port_to(peer);
    if (!at.attached() || at.broken()) at.peer_left();
}

void messenger::peer_left(message_port& at) noexcept {
    ++left_;
    for (const rank source : {at.peer(), any_source})
        while (message* const each = gone(source) ? probes_.waiting(source) : nullptr) complain_of_leaving(*each, source);
    message* waiting = at.pending();
    if (!waiting) waiting = matcher_.waiting(at.peer());
    if (waiting) {
        complain_of_leaving(*waiting, at.peer());
        return;
    }
    if (gone(any_source)) waiting = matcher_.waiting(any_source);
    if (waiting) complain_of_leaving(*waiting, any_source);
}

/// Returns whether no message can come from `source` any more; from any_source, whether all other ranks have left.
bool messenger::gone(rank source) const noexcept {
    const int others = engine_.who().size - 1;
    if (source == any_source) return others > 0 && left_ == others;
    const auto& at = ports_[static_cast<std::size_t>(source)];
    return at && at->left();
}

void messenger::complain_of_leaving(message& waiting, rank peer) noexcept {
    const message_call& named = waiting.whole ? waiting.whole->asked : waiting.asked;
    report why;
    why.code = error::peer_left;
    const std::string who = peer == any_source ? std::string("all other ranks") : fmt::format("rank {}", peer);
    why.cause = fmt::format("{} left while rank {} waited in {}", who, me(), to_string(named));
    if (peer != any_source) {
        why.peers = {peer};
        why.root = peer;
    }
    if (waiting.asked.what == message_call::kind::probe) end_alone(waiting, std::move(why));
    else fail(std::move(why));
}

// ---- failure

void messenger::fail(report why) noexcept { engine_.fail_locked(std::move(why)); }

void messenger::too_many(const message_call& next) {
    std::string cause = fmt::format("rank {} called {} with {} messages under way; the limit is {}", me(), to_string(next), pending_,
                                    engine_.settings().pending_limit);
    fail(engine_.who().own_failure(error::invalid_argument, std::move(cause)));
}

void messenger::end_all() noexcept {
    for (auto& each : ports_)
        if (each) each->stop();
    matcher_.clear();
    probes_.clear();
    for (message_list* from : {&live_, &fresh_})
        while (!from->empty()) {
            message& next = from->pop();
            next.failed = failure(report_of(next));
            next.ended = true;
            if (ended_.empty() && !engine_.shut()) engine_.loop().post(on_ended_);
            ended_.push(next);
        }
}

/// Returns whether a call ends without harm to other ranks: it sends nothing, and only waits for a message.
bool messenger::ends_alone(const message& which) noexcept {
    for (const message* each = which.parts; each; each = each->next_part)
        if (!each->ended && !ends_alone(*each)) return false;
    return which.asked.what != message_call::kind::send;
}

/// Ends a call too early: alone, where it can, else with the communicator.
void messenger::end_early(message& which, report why) noexcept {
    if (ends_alone(which)) end_alone(which, std::move(why));
    else fail(std::move(why));
}

void messenger::end_alone(message& which, report why) noexcept {
    for (message* each = which.parts; each; each = each->next_part) {
        if (each->ended) continue;
        let_go(*each);
        each->ended = true;
    }
    if (which.asked.what != message_call::kind::exchange) let_go(which);
    fail_alone(which, std::move(why));
}

/// Withdraws a receive or a probe: its memory is not touched any more.
void messenger::let_go(message& which) noexcept {
    if (which.asked.what == message_call::kind::probe) probes_.withdraw(which);
    else if (which.asked.what == message_call::kind::recv && which.matched()) port_to(which.what.source).let_go(which);
    else if (which.asked.what == message_call::kind::recv) matcher_.withdraw(which);
}

/// Ends a call with a failure of its own. A part of an exchange fails the exchange: the first failure counts, when all parts have ended.
void messenger::fail_alone(message& which, report why) noexcept {
    message& told = which.whole ? *which.whole : which;
    which.failed = failure(told_by(told, std::move(why)));
    if (which.whole && !told.failed) told.failed = which.failed;
    end(which);
}

report messenger::report_of(const message& which) const { return told_by(which, engine_.ending()); }

/// Returns the cause as this call tells it.
report messenger::told_by(const message& which, report why) const {
    why.operation = to_string(which.asked);
    why.sequence = which.call;
    why.communicator = engine_.who().communicator;
    why.epoch = epoch();
    why.local = me();
    why.done_bytes = which.done_bytes;
    why.total_bytes = which.total_bytes();
    if (which.call != 0 && !engine_.shut()) why.elapsed = engine_.loop().now() - which.started;  // after shut_down the loop may be gone
    if (which.asked.label) why.label = which.asked.label;
    return why;
}

void messenger::cancel(message& which, const char* reason) noexcept {
    if (!engine_.made().here()) return;
    const std::lock_guard lock(engine_.guard());
    if (which.ended) return;
    std::string cause = fmt::format("rank {} ended {} early: {}", me(), to_string(which.asked), reason);
    end_early(which, engine_.who().own_failure(error::cancelled, std::move(cause)));
}

// ---- deadlines

/// Names the ranks that have not done their part.
std::string messenger::waited_for(const message& which, std::vector<rank>& peers) const {
    bool any = false;
    const auto add = [&](const message& each) {
        const rank peer = each.matched() ? each.what.source : each.asked.peer;
        if (peer == any_source) any = true;
        else if (std::find(peers.begin(), peers.end(), peer) == peers.end()) peers.push_back(peer);
    };
    if (!which.parts) add(which);
    for (const message* each = which.parts; each; each = each->next_part)
        if (!each->ended) add(*each);
    if (any) return "any rank";
    return name_ranks(peers);
}

void messenger::overdue(message& which) noexcept {
    const std::lock_guard lock(engine_.guard());
    if (which.ended) return;
    report why;
    why.code = error::timed_out;
    const auto waited = std::chrono::duration<double>(which.asked.deadline).count();
    why.cause = fmt::format("rank {} waited {:g} s in {} for {}", me(), waited, to_string(which.asked), waited_for(which, why.peers));
    const bool listens = which.asked.what == message_call::kind::recv || which.asked.what == message_call::kind::probe;
    // Messages that have come instead: the caller may wait for the wrong tag.
    const std::size_t others = listens && !which.matched() ? matcher_.kept_messages(which.asked.peer) : 0;
    if (others > 0) why.cause += fmt::format("; unmatched messages from there: {}", others);
    end_early(which, std::move(why));
}

}  // namespace tutti
