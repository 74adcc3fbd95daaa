// Tasks that know their loop, as Asio's operations: on a guest loop, and on a loop that another thread runs.
#include <tutti/asio.hpp>
#include <tutti/detail/bound_task.hpp>
#include <tutti/event.hpp>
#include <tutti/sleep.hpp>

#include "support/forked.hpp"
#include "support/running_loop.hpp"

#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <deque>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using namespace tutti;
using namespace std::chrono_literals;
using detail::bind_to_loop;
namespace asio = boost::asio;

namespace {

/// Takes some turns of the loop that it must run on.
task<int> answer(event_loop& home, int value) {
    for (int turn = 0; turn < 3; ++turn) co_await yield();
    if (&(co_await this_loop) != &home || !home.here()) throw failure(error::aborted, "the task runs elsewhere");
    co_return value;
}
task<> nothing(event_loop& home) {
    auto work = answer(home, 0);
    co_await std::move(work);
}
task<> nap() { co_await sleep_for(1h); }
task<> fail() {
    co_await yield();
    throw failure(error::peer_died, "peer 1 is gone");
}
task<> make_a_mistake() {
    co_await yield();
    throw std::runtime_error("a mistake");
}
task<> await_inside(event_loop& home) {
    auto work = bind_to_loop(home, answer(home, 1));  // its awaiter's loop counts
    event_loop& here = co_await this_loop;
    try {
        co_await std::move(work);
    } catch (const failure& why) {
        if (&here == &home || why.code() != error::aborted) throw;
    }
}

asio::awaitable<int> await_all(event_loop& home) {
    co_await bind_to_loop(home, nothing(home));
    co_await bind_to_loop(home, nothing(home))(asio::use_awaitable);
    int total = co_await bind_to_loop(home, answer(home, 1))(asio::use_awaitable);
    auto kept = bind_to_loop(home, answer(home, 2));
    total += co_await std::move(kept)(asio::use_awaitable);
    try {
        co_await bind_to_loop(home, fail());
    } catch (const failure& why) {
        if (why.code() == error::peer_died) total += 10;
    }
    co_return total;
}

std::error_code code_of(const std::exception_ptr& why) {
    try {
        if (why) std::rethrow_exception(why);
    } catch (const failure& known) {
        return known.code();
    }
    return {};
}

/// Keeps what a handler was told, on whatever thread. Exceptions stay there, since ThreadSanitizer does not see which thread drops them last.
struct ear {
    auto handler() {
        return [this](std::exception_ptr why) {
            code = code_of(why);
            ++calls;
            calls.notify_one();
        };
    }
    std::error_code hear() {
        calls.wait(0);
        return code;
    }
    std::atomic<int> calls{0};
    std::error_code code;
};

}  // namespace

TEST_CASE("an asio::awaitable awaits tasks of a guest loop") {
    asio::io_context context;
    event_loop loop{host{context.get_executor()}};
    auto total = asio::co_spawn(context, await_all(loop), asio::use_future);
    context.run();
    CHECK(total.get() == 13);
}

TEST_CASE("an asio::awaitable awaits tasks of a loop that another thread runs") {
    asio::io_context context;
    test::running_loop other;  // its thread ends before what it posts to
    auto total = asio::co_spawn(context, await_all(other.loop), asio::use_future);
    context.run();
    CHECK(total.get() == 13);
}

TEST_CASE("use_future, a deferred operation and a stackful coroutine wait for a task") {
    asio::io_context context;
    test::running_loop other;  // its thread ends before what it posts to
    event_loop& loop = other.loop;
    CHECK(bind_to_loop(loop, answer(loop, 3))(asio::use_future).get() == 3);
    auto later = bind_to_loop(loop, answer(loop, 4))(asio::deferred);
    CHECK(std::move(later)(asio::use_future).get() == 4);
    int value = 0;
    asio::spawn(
        context,
        [&](asio::yield_context yield) {
            bind_to_loop(loop, nothing(loop))(yield);
            value = bind_to_loop(loop, answer(loop, 5))(yield);
        },
        asio::detached);
    context.run();
    CHECK(value == 5);
}

TEST_CASE("a future of the standard library starts no threads") {
    const auto child = test::in_a_fork([] {
        const auto threads = [] {
            return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
        };
        const auto before = threads();
        asio::io_context context;
        event_loop loop(host{context.get_executor()});
        auto first = bind_to_loop(loop, answer(loop, 3))(asio::use_future);
        auto second = async_run(loop, answer(loop, 4), asio::use_future);
        while (second.wait_for(0s) != std::future_status::ready) context.run_one();
        if (first.get() + second.get() != 7) throw failure(error::aborted, "other values came");
        const auto after = threads();
        if (after != before)
            throw failure(error::aborted, "there were " + std::to_string(before) + " threads, and now are " + std::to_string(after));
    });
    CHECK(child.err == "");
    CHECK(child.code == 0);
}

TEST_CASE("a callback hears once of a task's end, and what it was") {
    std::deque<ear> ears;  // until the other thread has ended
    test::running_loop other;
    struct {
        task<> work;
        std::error_code expected;
    } rows[] = {
        {bind_to_loop(other.loop, nothing(other.loop)), {}},
        {bind_to_loop(other.loop, fail()), error::peer_died},
        {bind_to_loop(other.loop, make_a_mistake()), error::aborted},
        {fail(), error::invalid_argument},
    };
    for (auto& each : rows) {
        ear& told = ears.emplace_back();
        each.work(told.handler());
        CHECK(told.hear() == each.expected);
        CHECK(told.calls == 1);
        each.work(told.handler());  // it has been moved away
        CHECK(told.code == error::invalid_argument);
    }
    CHECK_THROWS_WITH(nap()(asio::use_future).get(), "this task does not know a loop: start it with async_run(loop, task, token)");
}

TEST_CASE("a task that is awaited by another runs where that runs, whatever its own loop") {
    test::running_loop other;
    event_loop loop(event_loop::virtual_time);
    run(loop, await_inside(other.loop));
}

TEST_CASE("the handler's cancellation slot cancels the task, before it begins and while it waits") {
    for (const int turns : {0, 1, 2, 5}) {
        asio::io_context context;
        event_loop loop{host{context.get_executor()}};
        asio::cancellation_signal signal;
        ear told;
        bind_to_loop(loop, nap())(asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(context, told.handler())));
        for (int turn = 0; turn < turns; ++turn) context.poll_one();
        signal.emit(asio::cancellation_type::total);
        context.run();
        CHECK(told.calls == 1);
        CHECK(told.code == error::cancelled);
    }
    asio::cancellation_signal signal;
    ear told;
    test::running_loop other;
    bind_to_loop(other.loop, nap())(asio::bind_cancellation_slot(signal.slot(), told.handler()));
    signal.emit(asio::cancellation_type::total);
    CHECK(told.hear() == error::cancelled);
}

TEST_CASE("a loop that goes before the task has ended, or begun, tells its handler so") {
    for (const bool begun : {false, true}) {
        asio::io_context context;
        std::optional<event_loop> loop;
        loop.emplace(host{context.get_executor()});
        ear told;
        auto alive = std::make_shared<int>(1);
        const auto hold = [](std::shared_ptr<int>) -> task<> { co_await sleep_for(1h); };
        bind_to_loop(*loop, hold(alive))(told.handler());
        if (begun) context.poll();
        loop.reset();
        CHECK(told.calls == 1);
        CHECK(told.code == error::cancelled);
        CHECK(alive.use_count() == 1);
    }
}

TEST_CASE("in a forked process a handler is told that the task's loop is another process's") {
    event_loop loop;
    const auto child = test::in_a_fork([&] {
        ear told;
        bind_to_loop(loop, nap())(told.handler());
        if (told.code != error::closed) throw failure(error::aborted, "it was told something else");
    });
    CHECK(child.err == "");
    CHECK(child.code == 0);
}
