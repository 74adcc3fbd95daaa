#include "group/monitor.hpp"

#include "engine/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tutti::detail {
namespace {

constexpr duration roll_time = std::chrono::milliseconds(500);  // for answers to the roll; shorter than root_grace
constexpr duration root_grace = std::chrono::seconds(1);        // beyond a deadline, for rank 0 to name the missing ranks

double seconds(duration time) { return std::chrono::duration<double>(time).count(); }

/// Returns the time at which a rank other than 0 gives up on rank 0.
time_point limit_of(const monitor::call& which) { return later(later(which.since, which.within), root_grace); }

}  // namespace

void monitor::arrive(std::shared_ptr<call> which) {
    const std::uint64_t number = which->number;
    const duration within = which->within;
    calls_.emplace(number, std::move(which));
    if (calls_.size() > control::most_barriers)
        return fail(
            error::invalid_argument, number, {me_},
            fmt::format("rank {} called monitored_barrier with {} of them under way, which is the limit", me_, control::most_barriers));
    if (me_ == 0) came(me_, number, within), hear();
    else if (tree_.left()[0]) return left_early(0, number);
    else tree_.say_entered(number, within);
    set_clock();
}

std::optional<std::string> monitor::unfinished() const {
    if (calls_.empty()) return std::nullopt;
    return fmt::format("monitored_barrier #{}", calls_.begin()->first);
}

void monitor::note(news next) {
    if (news_.empty()) loop_.post(on_news_);
    news_.push_back(next);
}

/// Notes all reports before it judges: a rank that has left may have come to the barrier before.
void monitor::hear() noexcept {
    loop_.withdraw(on_news_);
    for (const news& next : std::exchange(news_, {})) {
        if (next.what == told::released) release(next.number);
        else if (next.what == told::entered) came(next.who, next.number, next.within);
        else if (const auto found = meetings_.find(next.number); found != meetings_.end() && found->second.called)
            found->second.here[static_cast<std::size_t>(next.who)] = true;
    }
    judge();
    set_clock();
}

/// The earliest deadline of the ranks that have come counts, each from its arrival here. A rank with a new parent reports its arrivals
/// again, and such a barrier may be over.
void monitor::came(rank who, std::uint64_t number, duration within) {
    if (number <= released_) return;
    meeting& at = meetings_[number];
    if (at.came.empty()) at.came.resize(static_cast<std::size_t>(size_));
    at.came[static_cast<std::size_t>(who)] = true;
    if (const time_point until = later(loop_.now(), within); !at.called && until < at.until) {
        at.until = until;
        at.within = within;
    }
}

void monitor::judge() noexcept {
    const auto& left = tree_.left();
    while (!meetings_.empty()) {
        const auto& [number, at] = *meetings_.begin();
        for (rank each = 0; each < size_; ++each)
            if (left[static_cast<std::size_t>(each)] && !at.came[static_cast<std::size_t>(each)]) return left_early(each, number);
        if (std::find(at.came.begin(), at.came.end(), false) != at.came.end()) {
            if (at.called && all_answered(at)) name_missing(number, at);
            return;
        }
        released_ = number;
        meetings_.erase(meetings_.begin());
        tree_.say_release(released_);
        release(released_);
    }
}

void monitor::release(std::uint64_t number) {
    while (!calls_.empty() && calls_.begin()->first <= number) {
        const auto which = std::move(calls_.extract(calls_.begin()).mapped());
        if (which->ends) which->ends->set();
        which->ends.reset();
    }
}

void monitor::departed(rank who) noexcept {
    hear();  // reports that came before the goodbye
    if (who == 0 && !calls_.empty()) left_early(who, calls_.begin()->first);
}

void monitor::left_early(rank who, std::uint64_t number) noexcept {
    fail(error::peer_left, number, {who}, fmt::format("rank {} left while others waited for it in monitored_barrier #{}", who, number));
}

void monitor::give_up(const call& which) noexcept {
    fail(error::cancelled, which.number, {me_},
         fmt::format("rank {} ended monitored_barrier #{} early: it was cancelled or its future was dropped", me_, which.number));
}

/// One timer serves all barriers: it is set to the earliest limit. Ranks other than 0 wait root_grace longer.
void monitor::set_clock() {
    time_point first = no_deadline;
    for (const auto& [number, at] : meetings_) first = std::min(first, at.until);
    if (me_ != 0)
        for (const auto& [number, who] : calls_) first = std::min(first, limit_of(*who));
    loop_.stop_timer(clock_);
    if (first != no_deadline) loop_.start_timer(clock_, first);
}

bool monitor::all_answered(const meeting& at) const {
    for (std::size_t each = 0; each < at.came.size(); ++each)
        if (!at.came[each] && !at.here[each]) return false;
    return true;
}

/// A rank that does not answer passes no answers on either, so nothing is known of the ranks behind it.
void monitor::name_missing(std::uint64_t number, const meeting& at) noexcept {
    std::vector<rank> missing, unknown;
    std::set<rank> silent;
    for (rank each = 0; each < size_; ++each) {
        if (at.came[static_cast<std::size_t>(each)]) continue;
        rank first = 0;  // the silent rank nearest to rank 0 on the way; a child of a rank that has left is rank 0's own child
        for (rank on = at.here[static_cast<std::size_t>(each)] ? 0 : each; on > 0 && !tree_.gone(on); on = control::parent_of(on))
            if (!at.here[static_cast<std::size_t>(on)]) first = on;
        (first == 0 || first == each ? missing : unknown).push_back(each);
        if (first > 0) silent.insert(first);
    }
    std::string cause = fmt::format("{} did not come to monitored_barrier #{} within {:g} s",
                                    missing.empty() ? "some ranks" : name_ranks(missing), number, seconds(at.within));
    if (!silent.empty())
        cause += fmt::format("; {} {} not answer", name_ranks({silent.begin(), silent.end()}), silent.size() == 1 ? "does" : "do");
    if (!unknown.empty()) cause += fmt::format(", so nothing is known of {}", name_ranks(unknown));
    silent.insert(missing.begin(), missing.end());
    fail(error::timed_out, number, {silent.begin(), silent.end()}, std::move(cause));
}

void monitor::look_at_clock() noexcept {
    hear();
    for (auto& [number, at] : meetings_) {
        if (loop_.now() < at.until) continue;
        if (at.called) return name_missing(number, at);
        at.called = true;
        at.here.resize(at.came.size());
        at.here[0] = true;
        at.until = later(loop_.now(), roll_time);
        const std::uint64_t which = number;
        tree_.call_roll(which);
        if (!meetings_.contains(which)) return;  // a lane broke in the call, and all barriers have ended
        if (all_answered(at)) return name_missing(which, at);
    }
    for (const auto& [number, who] : calls_)
        if (me_ != 0 && loop_.now() >= limit_of(*who))
            return fail(
                error::timed_out, number, {0},
                fmt::format("rank 0 did not say who was missing at monitored_barrier #{} after {:g} s", number, seconds(who->within)));
    set_clock();
}

void monitor::fail(error code, std::uint64_t number, std::vector<rank> who, std::string cause) noexcept {
    report why;
    why.code = code;
    why.operation = "monitored_barrier";
    why.sequence = number;
    if (code != error::timed_out) why.root = who.front();
    why.peers = std::move(who);
    why.cause = std::move(cause);
    observer_.monitor_failed(std::move(why));
}

void monitor::end(call& which, report why) noexcept {
    why.operation = "monitored_barrier";
    why.sequence = which.number;
    why.elapsed = loop_.now() - which.since;
    why.label = which.label;
    if (which.ends) which.ends->fail(failure(std::move(why)));
    which.ends.reset();
}

void monitor::end_all(const report& why) noexcept {
    loop_.withdraw(on_news_);
    loop_.stop_timer(clock_);
    news_.clear();
    meetings_.clear();
    for (auto& [number, which] : std::exchange(calls_, {})) end(*which, why);
}

}  // namespace tutti::detail
