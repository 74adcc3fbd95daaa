// tutti::run: reads the environment, joins, runs main, closes, and prints one line for an error.
#include "communicator/run_as.hpp"

#include "group/context_state.hpp"
#include "group/group.hpp"
#include "runtime/told.hpp"

#include <tutti/event.hpp>
#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

namespace tutti {
namespace {

using main_task = std::function<task<int>(communicator&)>;

constexpr std::chrono::milliseconds time_to_hear{200};  // for a main whose own operation reports the failure with more detail
constexpr auto unknown_exception = "main threw something that is no std::exception";

/// Waits for the end of a future without counting as the user who has heard of the failure.
class glance final : public detail::future_wait {
public:
    explicit glance(future<> at) noexcept : future_wait(at.take_state()) {}
    failure await_resume() const { return *state().why(); }
};

/// Ends main with an error when the communicator fails while main waits for something else and would never hear of it. It gives main
/// `time_to_hear` first. A main that has heard of the failure, or has closed the communicator, goes on: it may have something to save.
task<int> watching(communicator& world, const detail::group& group) {
    event_loop& loop = co_await this_loop;
    glance end(world.watch());
    const failure why = co_await end;
    co_await sleep_for(time_to_hear);
    event never;
    if (group.closes() || detail::was_told(loop, why)) co_await never.wait();
    throw failure(why);
}

/// Closes, and reports a failure only if main ended well: otherwise main's own exit code says more.
task<> close_after(communicator& all, int code) {
    std::optional<failure> why;
    try {
        auto closed = all.close();
        co_await std::move(closed);
    } catch (const failure& caught) {
        why = caught;
    }
    if (why && code == 0) throw *why;
}

/// Joins the job as rank `who.me`, runs `main`, and closes. Returns main's exit code.
task<int> join_run_and_close(context& rank_context, world who, const main_task& main) {
    auto joining = rank_context.join(std::move(who));
    const auto all = co_await std::move(joining);
    try {
        const detail::group& group = *rank_context.inner().groups().front();
        auto either = when_any(main(*all), watching(*all, group));
        const auto ended = co_await std::move(either);
        const int code = std::visit([](int given) { return given; }, ended);
        auto closed = close_after(*all, code);
        co_await std::move(closed);
        co_return code;
    } catch (const std::exception& caught) {
        all->abort(caught.what());  // peers need not wait for this rank
        throw;
    } catch (...) {
        all->abort(unknown_exception);
        throw;
    }
}

int complain(const std::string& text, int code) {
    std::fputs(fmt::format("tutti: {}\n", text).c_str(), stderr);
    return code;
}

task<int> returning_zero(std::function<task<>(communicator&)>& main, communicator& world) {
    auto work = main(world);
    co_await std::move(work);
    co_return 0;
}

/// While it lives, the thread of `loop` also runs the context's progress loop whenever `loop` is idle.
class idle_driver {
public:
    idle_driver(event_loop& loop, event_loop& progress) : loop_(loop) { loop.help(&progress); }
    idle_driver(const idle_driver&) = delete;
    idle_driver& operator=(const idle_driver&) = delete;
    ~idle_driver() { loop_.help(nullptr); }

private:
    event_loop& loop_;
};

}  // namespace

int run_as(const world& who, const std::vector<const algorithm*>& forced, const inside_task& main, context_options options) {
    try {
        event_loop loop;  // before the context, so it outlives it: ends of the context's calls may still be posted here
        context rank_context(options);
        rank_context.inner().force(forced);
        const main_task with_engine = [&](communicator& world) { return main(world, rank_context.inner().groups().front()->engine()); };
        const idle_driver driver(loop, rank_context.progress());
        return run(loop, join_run_and_close(rank_context, who, with_engine));
    } catch (const failure& why) {
        const bool named = why.details().local >= 0;
        return complain(named ? why.what() : fmt::format("rank {}: {}", who.me, why.what()),
                        why.code() == error::invalid_argument || why.code() == error::bad_launch ? 2 : 1);
    } catch (const std::exception& why) {
        return complain(fmt::format("rank {}: {}", who.me, why.what()), 1);
    } catch (...) {
        return complain(fmt::format("rank {}: {}", who.me, unknown_exception), 1);
    }
}

int run(std::function<task<int>(communicator&)> main, context_options options) {
    auto who = world_from_environment();
    if (!who) return complain(who.failure().what(), 2);
    auto given = with_environment(options);
    if (!given) return complain(fmt::format("rank {}: {}", who->me, given.failure().what()), 2);
    const inside_task without_engine = [&](communicator& world, engine&) { return main(world); };
    return run_as(*who, {}, without_engine, *given);
}

int run(std::function<task<>(communicator&)> main, context_options options) {
    const main_task wrapped = [&main](communicator& world) { return returning_zero(main, world); };
    return run(wrapped, options);
}

}  // namespace tutti
