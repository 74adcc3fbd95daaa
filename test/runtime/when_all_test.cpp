#include <tutti/detail/future_source.hpp>
#include <tutti/error.hpp>
#include <tutti/event.hpp>
#include <tutti/scope.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

template <class T>
task<T> value_after(duration length, T value) {
    co_await sleep_for(length);
    co_return std::move(value);
}
task<> nap(duration length) { co_await sleep_for(length); }
task<int> fail_after(duration length, const char* text) {
    co_await sleep_for(length);
    throw std::runtime_error(text);
}
task<int> count_cancel(int& cancelled) {
    try {
        co_await sleep_for(1h);
    } catch (const failure&) {
        ++cancelled;
        throw;
    }
    co_return 0;
}
/// Answers a request late, and then with a value.
task<int> stubborn(duration late) {
    try {
        co_await sleep_for(1h);
    } catch (const failure&) {}
    co_await without_cancel(nap(late));
    co_return 9;
}
task<int> fail_when_cancelled() {
    try {
        co_await sleep_for(1h);
    } catch (const failure&) {}
    throw std::runtime_error("loser");
}

}  // namespace

TEST_CASE("when_all runs its tasks at the same time and keeps their order") {
    event_loop loop(event_loop::virtual_time);
    const time_point begin = loop.now();
    auto values = run(loop, when_all(value_after(2s, 1), nap(3s), value_after(1s, std::make_unique<int>(5))));
    CHECK(std::get<0>(values) == 1);
    CHECK(*std::get<2>(values) == 5);
    run(loop, when_all(nap(1s), nap(2s)));
    CHECK(loop.now() - begin == 5s);
    run(loop, when_all());
}

TEST_CASE("when_all of a vector gives a vector") {
    event_loop loop(event_loop::virtual_time);
    for (const int count : {0, 1, 7}) {
        std::vector<task<int>> tasks;
        std::vector<task<>> naps;
        for (int i = 0; i < count; ++i) {
            tasks.push_back(value_after(1s * (count - i), i));
            naps.push_back(nap(1s));
        }
        const auto values = run(loop, when_all(std::move(tasks)));
        REQUIRE(values.size() == static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) CHECK(values[static_cast<std::size_t>(i)] == i);
        run(loop, when_all(std::move(naps)));
    }
}

namespace {
future<int> value_of(int value) {
    auto made = detail::make_future<int>();
    made.second.set(value);
    return std::move(made.first);
}
/// Ends when it is asked to.
future<> endless() {
    auto source = std::make_shared<std::optional<detail::future_source<>>>();
    auto made = detail::make_future<>([source] { (*source)->fail(failure(error::cancelled, "as you wish")); });
    source->emplace(std::move(made.second));
    return std::move(made.first);
}
task<> set_after(duration length, event& what) {
    co_await sleep_for(length);
    what.set();
}
}  // namespace

TEST_CASE("when_all and when_any take whatever a task can await, mixed") {
    event_loop loop(event_loop::virtual_time);
    event done;
    const auto pause = sleep_for(2s);
    const time_point begin = loop.now();
    auto all =
        run(loop, when_all(value_of(1), value_after(1s, 2), pause, sleep_until(begin + 3s), done.wait(), set_after(5s, done), yield()));
    static_assert(std::is_same_v<decltype(all),
                                 std::tuple<int, int, std::monostate, std::monostate, std::monostate, std::monostate, std::monostate>>);
    CHECK(std::get<0>(all) == 1);
    CHECK(std::get<1>(all) == 2);
    CHECK(loop.now() - begin == 5s);
    run(loop, when_all(pause, done.wait()));  // of nothing but void; the event is set
    CHECK(loop.now() - begin == 7s);

    event never;
    const auto first = run(loop, when_any(never.wait(), value_of(4), endless(), pause));
    CHECK(first.index() == 1);
    CHECK(std::get<1>(first) == 4);
    CHECK(loop.now() - begin == 7s);
}

TEST_CASE("when_all and when_any take vectors of futures") {
    event_loop loop(event_loop::virtual_time);
    std::vector<future<int>> values;
    for (const int each : {3, 1, 2}) values.push_back(value_of(each));
    CHECK(run(loop, when_all(std::move(values))) == std::vector{3, 1, 2});

    std::vector<future<>> ends;
    std::vector<detail::future_source<>> sources;
    for (int i = 0; i < 3; ++i) {
        auto made =
            detail::make_future<>([&sources, i] { sources[static_cast<std::size_t>(i)].fail(failure(error::cancelled, "as you wish")); });
        ends.push_back(std::move(made.first));
        sources.push_back(std::move(made.second));
    }
    sources[1].set();
    CHECK(run(loop, when_any(std::move(ends))) == 1);
}

TEST_CASE("a wait that is kept as a value can be limited, and awaited again") {
    event_loop loop(event_loop::virtual_time);
    event never;
    const auto pause = sleep_for(1h);
    const auto wait = never.wait();
    const auto until_cancelled = [&](auto limited) { CHECK_THROWS_WITH_AS(run(loop, std::move(limited)), "the deadline passed", failure); };
    for (int round = 0; round < 2; ++round) {
        until_cancelled(with_deadline(pause, 1s));
        until_cancelled(with_deadline(wait, loop.now() + 1s));
        until_cancelled(with_deadline(endless(), 1s));
    }
    CHECK(loop.now() == time_point() + 6s);
    cancel_source stop(loop);
    stop.request();
    CHECK_THROWS_AS(run(loop, with_cancel(pause, stop.token())), failure);
    run(loop, with_deadline(without_cancel(sleep_for(2s)), 1s));  // it does not hear of the deadline
    CHECK(loop.now() == time_point() + 8s);
}

namespace {
task<> join_in_time(scope& nursery, duration limit) { co_await with_deadline(nursery.join(), limit); }
}  // namespace

TEST_CASE("a join can have a deadline, which is that of the tasks") {
    event_loop loop(event_loop::virtual_time);
    scope nursery(loop);
    nursery.start(nap(1h));
    CHECK_THROWS_WITH_AS(run(loop, join_in_time(nursery, 1s)), "the deadline passed", failure);
    CHECK(nursery.running() == 0);
}

TEST_CASE("the first error goes through when_all after the others were cancelled and have ended") {
    event_loop loop(event_loop::virtual_time);
    const time_point begin = loop.now();
    int cancelled = 0;
    CHECK_THROWS_WITH_AS(run(loop, when_all(count_cancel(cancelled), fail_after(1s, "one"), stubborn(5s), fail_after(2s, "two"))), "one",
                         std::runtime_error);
    CHECK(cancelled == 1);
    CHECK(loop.now() - begin == 6s);
}

TEST_CASE("when_all is cancelled with its awaiter") {
    event_loop loop(event_loop::virtual_time);
    int cancelled = 0;
    CHECK_THROWS_WITH_AS(run(loop, with_deadline(when_all(count_cancel(cancelled), count_cancel(cancelled)), 1s)), "the deadline passed",
                         failure);
    CHECK(cancelled == 2);
}

TEST_CASE("when_any gives the first end, and the others are cancelled and awaited") {
    event_loop loop(event_loop::virtual_time);
    const time_point begin = loop.now();
    int cancelled = 0;
    const auto first = run(loop, when_any(count_cancel(cancelled), value_after(1s, std::string("me")), stubborn(5s)));
    CHECK(first.index() == 1);
    CHECK(std::get<1>(first) == "me");
    CHECK(cancelled == 1);
    CHECK(loop.now() - begin == 6s);
}

TEST_CASE("when_any of a vector tells which was first") {
    event_loop loop(event_loop::virtual_time);
    std::vector<task<int>> tasks;
    for (const int seconds : {5, 2, 9}) tasks.push_back(value_after(1s * seconds, seconds));
    const auto first = run(loop, when_any(std::move(tasks)));
    CHECK(first.index == 1);
    CHECK(first.value == 2);
    std::vector<task<>> naps;
    for (const int seconds : {5, 4, 3}) naps.push_back(nap(1s * seconds));
    CHECK(run(loop, when_any(std::move(naps))) == 2);
    CHECK_THROWS_AS(run(loop, when_any(std::vector<task<>>())), failure);
}

TEST_CASE("no error is lost in when_any") {
    event_loop loop(event_loop::virtual_time);
    int cancelled = 0;
    CHECK_THROWS_WITH_AS(run(loop, when_any(count_cancel(cancelled), fail_after(1s, "winner"), fail_when_cancelled())), "winner",
                         std::runtime_error);
    CHECK(cancelled == 1);
    CHECK_THROWS_WITH_AS(run(loop, when_any(value_after(1s, 1), fail_when_cancelled())), "loser", std::runtime_error);
    CHECK_THROWS_WITH_AS(run(loop, with_deadline(when_any(count_cancel(cancelled), count_cancel(cancelled)), 1s)), "the deadline passed",
                         failure);
}

TEST_CASE("a deadline throws timed_out once the child has really ended") {
    event_loop loop(event_loop::virtual_time);
    const time_point begin = loop.now();
    int cancelled = 0;
    try {
        run(loop, with_deadline(count_cancel(cancelled), begin + 2s));
        FAIL("it sleeps for an hour");
    } catch (const failure& why) {
        CHECK(why.code() == error::timed_out);
    }
    CHECK(cancelled == 1);
    CHECK(loop.now() - begin == 2s);
}

TEST_CASE("what ends in time, or with a result of its own, is believed") {
    event_loop loop(event_loop::virtual_time);
    const time_point begin = loop.now();
    CHECK(run(loop, with_deadline(value_after(1s, 3), 2s)) == 3);
    CHECK(loop.now() - begin == 1s);
    CHECK(run(loop, with_deadline(stubborn(1s), 2s)) == 9);
    CHECK(loop.now() - begin == 4s);
    CHECK_THROWS_WITH_AS(run(loop, with_deadline(fail_when_cancelled(), 2s)), "loser", std::runtime_error);
    CHECK(run(loop, with_deadline(value_after(1s, 3), duration::max())) == 3);
}

TEST_CASE("of two deadlines the sooner counts, whichever is outside") {
    for (const bool outer_first : {true, false}) {
        event_loop loop(event_loop::virtual_time);
        const time_point begin = loop.now();
        int cancelled = 0;
        auto inner = with_deadline(count_cancel(cancelled), outer_first ? 5s : 1s);
        CHECK_THROWS_WITH_AS(run(loop, with_deadline(std::move(inner), outer_first ? 1s : 5s)), "the deadline passed", failure);
        CHECK(cancelled == 1);
        CHECK(loop.now() - begin == 1s);
    }
}

TEST_CASE("a deadline and a result at the same moment end in exactly one of the two") {
    event_loop loop(event_loop::virtual_time);
    int results = 0, timeouts = 0;
    for (int i = -3; i <= 3; ++i) {
        try {
            results += run(loop, with_deadline(value_after(1s + std::chrono::nanoseconds(i), 1), 1s));
        } catch (const failure& why) {
            CHECK(why.code() == error::timed_out);
            ++timeouts;
        }
    }
    CHECK(results + timeouts == 7);
    CHECK(results >= 3);
    CHECK(timeouts >= 3);
}

TEST_CASE("tasks that wait for ever inside when_all are all named") {
    event_loop loop(event_loop::virtual_time);
    event never;
    auto left = [](event& what) -> task<> { co_await what.wait(); };
    std::string text;
    try {
        run(loop, when_all(left(never), with_deadline(value_after(no_deadline - time_point(), 1), no_deadline)));
    } catch (const failure& why) {
        text = why.what();
    }
    CAPTURE(text);
    CHECK(text.find("\ntutti::when_all (when_all.hpp:") != std::string::npos);
    CHECK(text.find("an event") != std::string::npos);
    CHECK(text.find("tutti::with_deadline (when_all.hpp:") != std::string::npos);
    CHECK(text.find("a date that never comes") != std::string::npos);
}
