// A program's main: who am I, join, run, close, and one line for an error.
#include "communicator/run_as.hpp"

#include "communicator/group.hpp"
#include "communicator/home.hpp"
#include "runtime/event.hpp"

#include <tutti/sleep.hpp>
#include <tutti/when_all.hpp>

#include "algorithm/cost_text.hpp"
#include "algorithm/tuning.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti {
namespace {

using main_task = std::function<task<int>(communicator&)>;

constexpr std::chrono::milliseconds time_to_close{200};  // for a main that has caught the failure itself
constexpr auto unknown_exception = "main threw something that is no std::exception";

/// Ends with an error when the communicator fails while `main` waits for something else. A little later, because main may be about to tell
/// it, and an operation that failed has more to tell. When `main` has closed it, that was the end of it, and `main` goes on.
task<int> watching(communicator& world, const detail::group& group) {
    std::optional<failure> why;
    try {
        co_await world.watch();
    } catch (const failure& caught) {
        why = caught;
    }
    co_await sleep_for(time_to_close);
    event never;
    if (group.closes()) co_await never.wait();
    throw *why;
}

task<int> whole(context& home, world who, const main_task& main) {
    auto joining = home.join(std::move(who));
    const auto all = co_await std::move(joining);
    try {
        const detail::group& group = *home.inner().groups().front();
        auto either = when_any(main(*all), watching(*all, group));
        const auto ended = co_await std::move(either);
        auto closed = all->close();
        co_await std::move(closed);
        co_return std::visit([](int code) { return code; }, ended);
    } catch (const std::exception& caught) {
        all->abort(caught.what());  // the others need not wait for this rank
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

/// False when it makes no sense.
bool read_costs(context_options& into) {
    const char* const text = std::getenv("TUTTI_COSTS");
    if (!text) return true;
    into.calibrate = std::string_view(text) == "measure";
    if (into.calibrate) return true;
    const auto costs = costs_in(text, into.costs.value_or(cost_model{}));
    if (costs) into.costs = costs;
    return costs.has_value();
}

/// False when it makes no sense.
bool read_deterministic(context_options& into) {
    const char* const text = std::getenv("TUTTI_DETERMINISTIC");
    const std::string_view said = text ? text : "";
    if (said == "0" || said == "1") into.deterministic = said == "1";
    return text == nullptr || said == "0" || said == "1";
}

/// False when it makes no sense.
bool read_transport(context_options& into) {
    const char* const text = std::getenv("TUTTI_TRANSPORT");
    const std::string name = text ? text : "";
    if (name == "auto") into.transport = transport_kind::automatic;
    else if (name == "tcp") into.transport = transport_kind::tcp;
    else if (name == "shm") into.transport = transport_kind::shm;
    else return text == nullptr;
    return true;
}

/// False when it is no whole number from 0 on.
template <class Number>
bool read_number(const char* variable, Number& into) {
    const char* const text = std::getenv(variable);
    if (!text) return true;
    const char* const end = text + std::strlen(text);
    const auto [last, error] = std::from_chars(text, end, into);
    return error == std::errc() && last == end && into >= 0;
}

task<int> returning_zero(std::function<task<>(communicator&)>& main, communicator& world) {
    auto work = main(world);
    co_await std::move(work);
    co_return 0;
}

}  // namespace

result<context_options> with_environment(context_options options) {
    if (!read_transport(options))
        return failure(error::invalid_argument, fmt::format("TUTTI_TRANSPORT={} is not auto, tcp or shm", std::getenv("TUTTI_TRANSPORT")));
    const auto no_number = [](const char* variable) {
        return failure(error::invalid_argument, fmt::format("{}={} is not a whole number from 0 on", variable, std::getenv(variable)));
    };
    if (!read_number("TUTTI_HOST", options.host)) return no_number("TUTTI_HOST");
    if (!read_number("TUTTI_SINGLE_COPY", options.single_copy_from)) return no_number("TUTTI_SINGLE_COPY");
    if (!read_number("TUTTI_CACHE", options.cache_bytes)) return no_number("TUTTI_CACHE");
    if (!read_costs(options))
        return failure(error::invalid_argument, fmt::format("TUTTI_COSTS={} is not understood; measure is, and {}",
                                                            std::getenv("TUTTI_COSTS"), to_string(cost_model{})));
    if (const char* const path = std::getenv("TUTTI_TUNING")) {
        auto text = tuning_text(path);
        if (!text) return failure(error::invalid_argument, "TUTTI_TUNING=" + text.failure().details().cause);
        options.tuning = std::move(text).value();
    }
    if (!read_deterministic(options))
        return failure(error::invalid_argument, fmt::format("TUTTI_DETERMINISTIC={} is not 0 or 1", std::getenv("TUTTI_DETERMINISTIC")));
    return options;
}

namespace {

class helping {
public:
    helping(event_loop& loop, event_loop& progress) : loop_(loop) { loop.help(&progress); }
    helping(const helping&) = delete;
    helping& operator=(const helping&) = delete;
    ~helping() { loop_.help(nullptr); }

private:
    event_loop& loop_;
};

}  // namespace

int run_as(const world& who, const std::vector<const algorithm*>& forced, const inside_task& main, context_options options) {
    try {
        event_loop loop;  // outlives the context, which may have more to tell there when main has ended
        context home(options);
        home.inner().force(forced);
        const main_task with_engine = [&](communicator& world) { return main(world, home.inner().groups().front()->engine()); };
        const helping until_then(loop, home.progress());
        return run(loop, whole(home, who, with_engine));
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
