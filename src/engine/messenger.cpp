#include "engine/messenger.hpp"

#include "engine/engine.hpp"
#include "runtime/progress_ticket.hpp"

#include <algorithm>
#include <optional>

namespace tutti {

// The most messages under way with which a caller does the loop's work itself. With more, their frames leave together from the loop.
static constexpr std::size_t few = 4;

messenger::messenger(engine& owner)
    : engine_(owner),
      matcher_(owner.who().size),
      probes_(owner.who().size),
      ports_(static_cast<std::size_t>(owner.who().size)) {}

event_loop& messenger::loop() const noexcept { return engine_.loop(); }
std::mutex& messenger::guard() const noexcept { return engine_.guard(); }
cork& messenger::together() const noexcept { return engine_.together(); }
const message_settings& messenger::limits() const noexcept { return engine_.settings().messages; }
std::size_t messenger::most_offers() const noexcept { return engine_.settings().pending_limit; }
std::size_t messenger::slice_bytes() const noexcept {
    constexpr std::size_t most = std::size_t{1} << 60;  // so that a few of them can be added
    return std::min(engine_.settings().slice_bytes, most);
}
rank messenger::me() const noexcept { return engine_.who().me; }
std::uint32_t messenger::epoch() const noexcept { return engine_.who().epoch; }

/// Returns how much a call counts in pending_limit: the parts of an exchange count one by one.
static std::size_t weight_of(const message_call& what) noexcept { return what.what == message_call::kind::exchange ? 1 + what.count : 1; }

// ---- calls

/// Makes a call under the guard. Work that it leaves for the loop is done here afterwards if little is under way and this thread may drive
/// the loop; else it is posted.
template <class Call>
message* messenger::enter(Call call) {
    message* made = nullptr;
    std::optional<detail::progress_ticket> here;
    {
        const std::lock_guard lock(engine_.guard());
        calling_ = true;
        try {
            made = call();
        } catch (...) {  // out of memory; nothing has begun
            calling_ = false;
            throw;
        }
        calling_ = false;
        if (!std::exchange(due_, false)) return made;
        if (engine_.shut()) return made;
        if (!working_ && pending_ <= few) here.emplace(engine_.loop());
        if (!here || !*here) {
            post_work();
            return made;
        }
    }
    work();
    return made;
}

message& messenger::issue(const message_call& what, duration default_deadline) {
    return *enter([&] { return &begin_one(what, default_deadline); });
}

message* messenger::try_recv(const message_call& what, duration default_deadline) {
    return enter([&]() -> message* {
        const bool over = engine_.over();
        if (!over && !matcher_.find(what.peer, what.tag)) return nullptr;
        return &begin_one(what, default_deadline);
    });
}

message& messenger::exchange(std::span<const transfer> parts, const message_call& whole, duration default_deadline) {
    return *enter([&] { return &begin_all(parts, whole, default_deadline); });
}

message& messenger::begin_one(const message_call& what, duration default_deadline) {
    message& made = begin(what, default_deadline);
    if (refused(made)) return made;
    start(made);
    return settle(made);
}

result<std::optional<received>> messenger::try_probe(rank source, message_tag tag) noexcept {
    const std::lock_guard lock(engine_.guard());
    if (engine_.over()) {
        message asked;
        asked.asked = probe_of(source, tag);
        return failure(report_of(asked));
    }
    const unexpected* found = matcher_.find(source, tag);
    return found ? std::optional(found->what) : std::nullopt;
}

message& messenger::begin_all(std::span<const transfer> parts, const message_call& whole, duration default_deadline) {
    stock(parts.size() + 1);  // first, because it may throw: nothing of the exchange is under way then
    message& made = begin(whole, default_deadline);
    if (refused(made)) return made;
    made.open_parts = parts.size() + 1;  // one for the start itself
    message** last = &made.parts;
    for (const transfer& each : parts) {
        message& part = take(call_of(each), true);
        part.call = ++calls_;
        part.started = made.started;
        part.whole = &made;
        *last = &part;
        last = &part.next_part;
    }
    for (message* each = made.parts; each && !engine_.over(); each = each->next_part) start(*each);
    if (!engine_.over() && --made.open_parts == 0) end(made);
    return settle(made);
}

/// Makes sure that so many messages can be taken and posted without an allocation.
void messenger::stock(std::size_t messages) {
    matcher_.reserve(messages);
    probes_.reserve(messages);
    for (message* each = free_.first(); each && messages > 0; each = message_list::after(*each)) --messages;
    for (; messages > 0; --messages) free_.push(*owned_.emplace_back(std::make_unique<message>()));
}

message& messenger::take(const message_call& what, bool part) {
    stock(1);
    message& made = free_.pop();
    made.begin(part ? nullptr : engine_.shared_from_this(), *this, what);
    return made;
}

message& messenger::begin(const message_call& what, duration default_deadline) {
    if (weight_of(what) > engine_.settings().pending_limit - pending_) too_many(what);
    message& made = take(what, false);
    made.call = ++calls_;
    made.started = engine_.loop().now();
    if (made.asked.deadline == duration{}) made.asked.deadline = default_deadline;
    return made;
}

/// Puts a call among the pending ones. Returns true, and ends it instead, if it comes too late.
bool messenger::refused(message& made) {
    if (!engine_.over()) {
        pending_ += weight_of(made.asked);
        fresh_.push(made);
        issuing_ = &made;
        return false;
    }
    made.ended = true;
    made.finish(failure(report_of(made)));
    made.release();  // the engine's reference; the caller's stays
    return true;
}

/// Finishes a call that has ended well already; any other needs the loop.
message& messenger::settle(message& made) {
    issuing_ = nullptr;
    if (made.ended && !made.failed) {
        made.finish(made.what);
        made.release();
    } else {
        post_work();
    }
    return made;
}

// ---- progress

message_port& messenger::port_to(rank peer) {
    auto& found = ports_[static_cast<std::size_t>(peer)];
    if (!found) found = std::make_unique<message_port>(*this, peer);
    return *found;
}

void messenger::touch(message_port& at) noexcept {
    if (!at.flushed()) mark(at);
}

void messenger::mark(message_port& at) noexcept {
    if (std::exchange(at.dirty, true)) return;
    dirty_.push_back(&at);
    post_work();
}

void messenger::post_work() noexcept {
    if (calling_) {
        due_ = true;
        return;
    }
    if (engine_.shut() || std::exchange(working_, true)) return;
    engine_.loop().post(on_work_);
}

void messenger::work() noexcept {
    {
        const std::lock_guard lock(engine_.guard());
        working_ = false;
        while (!fresh_.empty()) {
            message& next = fresh_.pop();
            live_.push(next);
            next.timed = true;
            if (const time_point limit = later(next.started, next.asked.deadline); limit != no_deadline)
                engine_.loop().start_timer(next.deadline, limit);
        }
        for (message_port* each : dirty_) {
            each->dirty = false;
            each->flush();
            each->expect();
        }
        dirty_.clear();
    }
    engine_.tell_observer();
}

void messenger::end(message& which) noexcept {
    if (which.ended) return;
    which.ended = true;
    if (which.whole) {
        if (which.asked.told && !which.failed) *which.asked.told = which.what;
        which.whole->done_bytes += which.done_bytes;
        if (--which.whole->open_parts == 0) end(*which.whole);
        return;
    }
    (which.timed ? live_ : fresh_).remove(which);
    if (&which == issuing_ && !which.failed) {
        pending_ -= weight_of(which.asked);
        return;
    }
    if (ended_.empty()) engine_.loop().post(on_ended_);
    ended_.push(which);
}

void messenger::finish_ended() noexcept {
    message_list done;
    bool syncs = false;
    {
        const std::lock_guard lock(engine_.guard());
        syncs = !engine_.syncs().empty();
        done = std::exchange(ended_, {});
        for (message* each = done.first(); each; each = message_list::after(*each)) pending_ -= weight_of(each->asked);
    }
    while (!done.empty()) {
        message& next = done.pop();
        engine_.loop().stop_timer(next.deadline);
        if (next.failed) next.finish(*next.failed);
        else next.finish(next.what);
        next.release();
    }
    if (syncs) engine_.syncs().settle();
}

void messenger::take_back(message& which) noexcept {
    if (!engine_.made().here()) return;
    const std::lock_guard lock(engine_.guard());
    while (message* const part = which.parts) {
        which.parts = part->next_part;
        free_.push(*part);
    }
    free_.push(which);
}

}  // namespace tutti
