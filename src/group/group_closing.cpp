// How a group closes. close() waits until nothing is pending, says goodbye on every lane and in the tree, and waits for the goodbyes of all
// ranks. A rank that leaves without waiting (group::leave) says hang_up instead, and group_tree.cpp has what follows.
#include "group/context_state.hpp"
#include "group/group.hpp"
#include "group/reminder.hpp"
#include "group/spawn.hpp"
#include "runtime/notified.hpp"

#include <tutti/sleep.hpp>

#include <fmt/format.h>

namespace tutti::detail {

static constexpr duration idle_poll = std::chrono::microseconds(500);  // neither engine nor control reports that it has become idle

task<> group::until_idle(time_point limit) {
    while ((!engine_->idle() || monitor_.pending()) && !failure_ && context_->loop().now() < limit) co_await sleep_for(idle_poll);
}

task<> group::until_all_left(time_point limit) {
    while ((!control_.all_left() || adopting_ > 0) && !failure_) {
        auto waiting = notified(changed_, limit);
        const bool told = co_await std::move(waiting);
        if (!told) co_return;
    }
    while (!control_.flushed() && context_->loop().now() < limit) co_await sleep_for(idle_poll);  // goodbyes passed on
}

future<> group::start_close(duration within) {
    if (!made().here()) return failed_future(foreign());
    closes_.store(true, std::memory_order_relaxed);
    auto ends = make_future<void>();
    auto closing = std::make_shared<task<>>(fulfil(close(within), std::move(ends.second)));
    // In the group's background, not the context's: if the group goes first, the future ends.
    (void)context_->send([this, closing] { work_.start(std::move(*closing)); });
    return std::move(ends.first);
}

report group::about_closing(std::string cause) const {
    report why;
    why.code = error::timed_out;
    why.operation = "close";
    why.communicator = who_.name;
    why.local = who_.me;
    why.cause = std::move(cause);
    return why;
}

/// Finds ranks that left out a last call. If that call waits for no peer, it has ended well elsewhere, and no later call shows the
/// difference.
std::optional<report> group::uneven_calls() const {
    const auto first = control_.calls_of(0);
    for (rank each = 1; each < size() && first; ++each)
        if (const auto calls = control_.calls_of(each); calls && *calls != *first) {
            report why = about_closing(fmt::format(
                "rank 0 had called {} collectives, with those of splits and reducers, when it closed its communicator, rank {} {}", *first,
                each, *calls));
            why.code = error::mismatch;
            why.peers = {0, each};
            return why;
        }
    return {};
}

/// If a call of this rank has not ended by the limit, the communicator fails: a goodbye would promise that nothing is missing.
task<> group::close(duration within) {
    if (closed_) co_return;
    const time_point limit = later(context_->loop().now(), within);
    const auto tell = [this](double seconds) { warn(fmt::format("close has waited {:.0f} s for {}", seconds, awaited_to_close())); };
    const reminder slow(context_->loop(), context_->options().stall_warning, tell);
    co_await until_idle(limit);
    auto open = engine_->unfinished();
    if (!open) open = monitor_.unfinished();
    if (open && !failure_) {
        report why = about_closing(fmt::format("rank {} closed its communicator, in which {} did not end in time", who_.me, *open));
        why.root = who_.me;
        why.peers = {who_.me};
        fail_everywhere(std::move(why));
    }
    if (!failure_) {
        engine_->say_goodbye();
        control_.say_goodbye(engine_->calls());
        co_await until_all_left(limit);
    }
    const bool left = control_.all_left();
    const std::optional<report> unequal = uneven_calls();
    shut();
    if (failure_) throw failure(told());
    if (unequal) throw failure(*unequal);
    if (left) co_return;
    const auto [who, behind] = missing(control_.left());
    throw failure(about_closing(fmt::format("{} did not say goodbye in time{}", who, behind)));
}

std::string group::awaited_to_close() const {
    if (auto open = engine_->unfinished()) return "the end of " + *open;
    if (auto open = monitor_.unfinished()) return "the end of " + *open;
    const bool said = control_.left()[static_cast<std::size_t>(who_.me)];
    if (said && !control_.all_left()) return missing(control_.left()).first;
    if (said && adopting_ > 0) return "ranks that have lost their parent, to tell them who has left";
    return "its last bytes to leave";
}

}  // namespace tutti::detail
