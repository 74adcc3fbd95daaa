#include "engine/engine.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <numeric>

namespace tutti {

/// Bytes kept back while operations begin: beside the sending of more, a system call does not count.
static constexpr std::size_t most_kept = 64 * KiB;

static chooser chooser_at(const cost_model& costs, const engine_settings& settings, const engine_identity& who) {
    std::vector<chooser::range> wanted = wanted_in(settings.tuning, who.size, who.hosts);
    for (const algorithm* each : settings.forced) wanted.push_back({0, each});
    return chooser(who.size, costs, std::move(wanted), settings.deterministic, who.hosts);
}

engine::engine(event_loop& loop, engine_identity who, engine_settings settings, engine_observer& observer, std::vector<event_loop*> further)
    : who_(std::move(who)),
      settings_(std::move(settings)),
      loops_(loop, std::move(further), settings_.lanes),
      loop_(loop),
      choose_(chooser_at(settings_.costs, settings_, who_)),
      observer_(&observer),
      ports_(who_.size),
      admission_(most_under_way_of(settings_, who_)),
      past_caches_from_(past_caches_from(settings_, who_)) {}

engine::~engine() { TUTTI_CHECK(shut_, "an engine is shut down before it is destroyed"); }

// ---- issuing

void engine::reprice(const cost_model& costs) {
    chooser choose = chooser_at(costs, settings_, who_);
    const std::lock_guard lock(guard_);
    TUTTI_CHECK(pending_ == 0, "costs change while nothing is under way");
    settings_.costs = costs;
    choose_ = std::move(choose);
    last_choice_ = {};
    for (auto& each : owned_) each->laid_out_ = false;  // for a plan that may not be chosen any more
}

const algorithm& engine::chosen(collective kind, std::size_t vector_bytes) {
    const std::lock_guard lock(guard_);
    return choose_.choose(kind, vector_bytes);
}

operation& engine::issue(const request& what, duration default_deadline, std::uint64_t place) {
    issuing now(*this);
    operation& made = accept(what, default_deadline);
    if (!made.ended) now.enter(made, place);
    return made;
}

/// Makes an operation; after a failure, one that has ended already.
operation& engine::accept(const request& what, duration default_deadline) {
    if (pending_ == settings_.pending_limit) too_many(describe(what));
    operation* const before = begun_like_before(what);
    operation& made = before ? *before : made_of(what);
    take_out(made);
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
void engine::too_many(const descriptor& next) {
    fail_own(error::invalid_argument,
             fmt::format("rank {} called {} with {} operations under way, which is the limit", who_.me, to_string(next), pending_));
}

/// Returns the bytes of all blocks that this rank sends and receives, where only it knows them.
static std::size_t own_bytes(const request& what) noexcept {
    std::size_t count = what.counts.empty() ? what.count : 0;
    for (const auto each : {what.counts, what.recv_counts}) count = std::accumulate(each.begin(), each.end(), count);
    return count * what.element_bytes();
}

/// Decides the kind of lanes, a pure function of what all ranks know, and the share for admission. Ranks with their own counts do not know
/// the vector's length alike: they always use bulk lanes.
void engine::assign_lanes(operation& made, const request& what) const noexcept {
    const bool own = what.own_counts();
    const std::size_t bytes = own ? own_bytes(what) : vector_bytes(what, who_.size);
    made.lanes = !own && bytes <= settings_.small_bytes ? lane_kind::small : lane_kind::bulk;
    made.share = admission_.share_of(bytes);
}

port& engine::first_port_to(rank peer, lane_kind kind) {
    port& made = ports_.add(*this, peer, kind, settings_.lanes);
    news_.wanted.push_back({peer, kind});
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
            kept += next.share;
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
    ports_.each([](port& each) { each.resume_ahead(); });
}

/// Returns whether the operation at this place has joined its ports.
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

/// An operation has moved on: its next slices may leave, and its parked frames may land.
void engine::progressed(operation& which) noexcept {
    for (send_channel& each : which.senders()) each.over->feed();
    for (recv_channel& each : which.receivers()) each.over->resume();
    if (!which.ended && which.complete()) end(which);
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

/// Tells the observer, without the guard, what ports found under it. After a failure it hears of nothing else.
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
        close_pool();
    }
    finish_ended();
    messages_.finish_ended();
}

}  // namespace tutti
