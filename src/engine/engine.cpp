#include "engine/engine.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace tutti {

/// Bytes kept back while operations begin: beside the sending of more, a system call does not count.
static constexpr std::size_t most_kept = 64 * KiB;

engine::engine(event_loop& loop, engine_identity who, engine_settings settings, engine_observer& observer, std::vector<event_loop*> further)
    : who_(std::move(who)),
      settings_(std::move(settings)),
      loops_(loop, std::move(further), settings_.lanes),
      loop_(loop),
      observer_(&observer),
      recent_(who_.me),
      pool_(*this, who_, settings_),
      admission_(most_under_way_of(settings_, who_)),
      ports_(who_.size),
      messages_(*this),
      syncs_(*this) {}

engine::~engine() { TUTTI_CHECK(shut_, "an engine is shut down before it is destroyed"); }

// ---- issuing

void engine::reprice(const cost_model& costs) {
    const std::lock_guard lock(guard_);
    TUTTI_CHECK(pending_ == 0, "costs change while nothing is under way");
    settings_.costs = costs;
    pool_.reprice();
}

const algorithm& engine::chosen(collective kind, std::size_t vector_bytes) {
    const std::lock_guard lock(guard_);
    return pool_.choose(kind, vector_bytes);
}

operation& engine::issue(const request& what, duration default_deadline, std::uint64_t place) {
    issuing now(*this);
    operation& made = accept(what, default_deadline);
    if (!made.ended) now.enter(made, place);
    return made;
}

/// Returns a free operation for a call, without a plan after a failure.
operation& engine::ready_for(const request& what) { return over() ? pool_.make_unplanned(what) : pool_.make(what); }

/// Makes an operation; after a failure, one that has ended already.
operation& engine::accept(const request& what, duration default_deadline) {
    if (pending_ == settings_.pending_limit) too_many(describe(what));
    operation& made = ready_for(what);
    pool_.take_out(made);
    if (made.asked.deadline == duration{}) made.asked.deadline = default_deadline;
    if (over()) refuse(made);
    return made;
}

engine::issuing::~issuing() {
    const bool tells = here_ && *here_ && of_.has_news();
    lock_.unlock();
    if (tells) of_.tell_observer();
}

/// Fresh operations stand in the order of their places: a reserved place may be called late.
static bool earlier(const operation& each, const operation& one) noexcept { return each.sequence < one.sequence; }

/// Gives an operation its place in the order. Starts it at once if it is small and alone, and this thread may drive the loop: to wake the
/// loop would cost more. Otherwise the loop starts it.
void engine::issuing::enter(operation& made, std::uint64_t place) noexcept {
    made.started = of_.loop_.now();
    made.patience.begin(of_.settings_.stall_warning);
    made.sequence = of_.order_.take(place);
    made.issued = of_.order_.made();
    of_.recent_.remember(made.sequence, made.what, made.asked.label);
    // Not with a user's operator, which must not run inside of the user's own call.
    const bool alone = ++of_.pending_ == 1 && !of_.fresh_posted_ && made.lanes != lane_kind::bulk && !made.asked.op.user() &&
                       !of_.order_.holds(made.sequence);
    if (alone) here_.emplace(of_.loop_);
    if (here_ && *here_) {
        of_.let_in(made);
        of_.resume_ahead();
    } else {
        of_.fresh_.insert(made, earlier);
        of_.post_fresh();
    }
}

void engine::post_fresh() noexcept {
    if (fresh_posted_ || shut_) return;
    fresh_posted_ = true;
    loop_.post(on_fresh_);
}

/// Ends an operation before its caller sees it.
void engine::refuse(operation& made) {
    made.sequence = 0;
    made.ended = true;
    made.finish(failure(report_of(made)));
    made.release();  // the engine's reference; the caller's stays
}

/// Too many calls fail the communicator: the other ranks count the call that has no place here, so no later one would match.
void engine::too_many(const call_signature& next) {
    fail_own(error::invalid_argument,
             fmt::format("rank {} called {} with {} operations under way, which is the limit", who_.me, to_string(next), pending_));
}

void engine::put_back(operation& which) noexcept {
    if (!made_.here()) return;
    std::shared_ptr<engine> self;  // destroyed when the guard is free
    const std::lock_guard lock(guard_);
    self = pool_.put_back(which);
}

// ---- the order

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

future<> engine::sync() {
    const std::lock_guard lock(guard_);
    return syncs_.add(order_.made(), messages_.calls());
}

// ---- beginning

port& engine::first_port_to(rank peer, lane_kind kind) {
    port& made = ports_.add(*this, peer, kind, settings_.lanes);
    want(peer, kind);
    return made;
}

void engine::take_fresh() noexcept {
    {
        const std::lock_guard lock(guard_);
        fresh_posted_ = false;
        start_fresh();
        if (!has_news()) return;
    }
    tell_observer();
}

/// Begins operations that there is room for now, then those that were called meanwhile, in the order of their places.
void engine::start_fresh() noexcept {
    {
        const cork::held together(cork_);
        while (operation* const next = admission_.next()) begin(*next);
        std::size_t kept = 0;  // bytes of vectors whose frames may be kept back
        while (!fresh_.empty() && !order_.holds(fresh_.first()->sequence)) {
            operation& next = fresh_.pop();
            kept += admission_.share_of(next);
            let_in(next);
            if (kept < most_kept) continue;
            cork_.send_kept();
            kept = 0;
        }
    }
    watch_held();
    resume_ahead();
}

void engine::let_in(operation& next) noexcept {
    if (admission_.enter(next)) begin(next);
    else if (!next.deadline.started()) watch(next);
}

/// Asks again about frames that came before their operations began.
void engine::resume_ahead() noexcept {
    if (!std::exchange(ahead_, false)) return;
    ports_.each([](port& each) { each.receiver().resume_ahead(); });
}

bool engine::has_begun(lane_kind lanes, std::uint64_t sequence) const noexcept {
    return order_.called(sequence) && !order_.holds(sequence) && (fresh_.empty() || fresh_.first()->sequence > sequence) &&
           !admission_.keeps(lanes, sequence);
}

/// Puts a channel into its port. Returns that port if its peer has left, else `left`.
template <class Channel>
port* engine::join(Channel& channel, lane_kind kind, port* left) noexcept {
    port& at = port_to(channel.at.peer(), kind);
    at.add(channel);
    return at.left() ? &at : left;
}

/// Lets an operation join its ports, and sends and takes as much as is possible at once.
void engine::begin(operation& which) noexcept {
    live_.push(which);
    port* left = nullptr;
    for (send_channel& each : which.senders()) left = join(each, which.lanes, left);
    for (recv_channel& each : which.receivers()) left = join(each, which.lanes, left);
    if (left) {
        left->miss();
        return;
    }
    which.advance();
    progressed(which);
    for (recv_channel& each : which.receivers()) each.over->look();
    if (!which.ended && !which.deadline.started()) watch(which);
}

// ---- progress

void engine::progressed(operation& which) noexcept {
    feed(which);
    for (recv_channel& each : which.receivers()) each.over->resume();
    if (!which.ended && which.complete()) end(which);
}

/// Lets the ports send what may leave now.
void engine::feed(operation& which) noexcept {
    for (send_channel& each : which.senders()) each.over->feed();
}

/// Ends an operation well. If no thread awaits it yet it is finished here, under the guard. With spread lanes, and when a waiter must be
/// woken, the loop does that without the guard.
void engine::end(operation& which) noexcept {
    which.ended = true;
    live_.remove(which);
    admission_.leave(which);
    if (admission_.has_next()) post_fresh();
    if (!loops_.spread(which.lanes) && which.finish_unless_awaited()) {
        --pending_;
        loop_.stop_timer(which.deadline);
        which.release();
        syncs_.post();
        return;
    }
    if (ended_.empty()) loop_.post(on_ended_);
    ended_.push(which);
}

void engine::finish_ended() noexcept {
    operation_list done;
    bool syncs = false;
    {
        const std::lock_guard lock(guard_);
        syncs = !syncs_.empty();
        done = std::exchange(ended_, {});
        for (operation* each = done.first(); each; each = operation_list::after(*each)) --pending_;
    }
    while (!done.empty()) {
        operation& next = done.pop();
        loop_.stop_timer(next.deadline);
        if (next.failed) next.finish(*next.failed);
        else next.finish();
        next.release();
    }
    if (syncs) syncs_.settle();
}

bool engine::under_way(std::uint64_t collectives, std::uint64_t messages) const noexcept {
    const auto before = [collectives](const operation& each) { return each.issued <= collectives; };
    for (const operation_list* in : {&live_, &fresh_, &ended_})
        for (const operation* each = in->first(); each; each = operation_list::after(*each))
            if (before(*each)) return true;
    return admission_.any_waits(before) || messages_.under_way(messages);
}

bool engine::idle() noexcept {
    const std::lock_guard lock(guard_);
    if (pending_ > 0 || messages_.first_under_way() || !messages_.told() || !messages_.flushed()) return false;
    bool busy = false;
    ports_.each([&](const port& each) { busy = busy || each.busy(); });
    return !busy;
}

void engine::say_goodbye() noexcept {
    const std::lock_guard lock(guard_);
    if (std::exchange(said_goodbye_, true)) return;  // the first one's frames may still be queued
    ports_.each([](port& each) { each.say_goodbye(); });
    messages_.say_goodbye();
}

// ---- telling the observer

void engine::post_news() noexcept {
    if (news_posted_ || shut_) return;
    news_posted_ = true;
    loop_.post(on_news_);
}

void engine::hear_news() noexcept {
    {
        const std::lock_guard lock(guard_);
        news_posted_ = false;
    }
    tell_observer();
}

/// After a failure the observer hears of nothing else.
void engine::tell_observer() noexcept {
    news found;
    {
        const std::lock_guard lock(guard_);
        if (!has_news()) return;
        if (failure_) {
            ports_.each([](port& each) { each.close(); });
            messages_.close();
            found.failed = std::exchange(news_.failed, {});
        } else {
            found = std::exchange(news_, {});
            if (found.question) loop_.start_timer(answer_due_, loop_.now() + label_patience);
        }
    }
    found.tell(*observer_);
}

void engine::shut_down() noexcept {
    part();
    const auto self = shared_from_this();
    {
        const std::lock_guard lock(guard_);
        if (shut_) return;
        ports_.each([](port& each) {
            each.stop();
            each.close();
        });
        ports_.clear();
        news_ = {};
        messages_.end_all();
        messages_.shut_down();
        shut_ = true;
        end_all();
        messages_.withdraw();
        loop_.withdraw(on_fresh_);
        loop_.withdraw(on_ended_);
        loop_.withdraw(on_news_);
        syncs_.withdraw();
        loop_.stop_timer(answer_due_);
        pool_.close();
    }
    finish_ended();
    messages_.finish_ended();
}

}  // namespace tutti
