#include <tutti/error.hpp>
#include <tutti/event.hpp>
#include <tutti/scope.hpp>
#include <tutti/when_all.hpp>


#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

task<> note_after(duration length, std::vector<int>& order, int mine) {
    co_await sleep_for(length);
    order.push_back(mine);
}
task<> fail_after(duration length, const char* text) {
    co_await sleep_for(length);
    throw std::runtime_error(text);
}
task<> note_cancel(int& cancelled) {
    try {
        co_await sleep_for(1h);
    } catch (const failure&) {
        ++cancelled;
        throw;
    }
}
task<> fail_when_cancelled(const char* text) {
    try {
        co_await sleep_for(1h);
    } catch (const failure&) {
    }
    throw std::runtime_error(text);
}

task<> three_at_once(std::vector<int>& order) {
    scope nursery;
    nursery.start(note_after(3s, order, 3));
    nursery.start(note_after(1s, order, 1));
    nursery.start(note_after(2s, order, 2));
    CHECK(nursery.running() == 3);
    co_await nursery.join();
    CHECK(nursery.running() == 0);
    nursery.start(note_after(1s, order, 4));
    co_await nursery.join();
}

task<> first_error(int& cancelled) {
    scope nursery;
    nursery.start(note_cancel(cancelled));
    nursery.start(fail_after(1s, "first"));
    nursery.start(fail_when_cancelled("second"));
    nursery.start(note_cancel(cancelled));
    try {
        co_await nursery.join();
        FAIL("a task failed");
    } catch (const std::runtime_error& why) {
        CHECK(std::string(why.what()) == "first");
    }
    REQUIRE(nursery.errors().size() == 2);
    CHECK_THROWS_WITH_AS(std::rethrow_exception(nursery.errors()[1]), "second", std::runtime_error);
}

task<> cancel_all(int& cancelled) {
    scope nursery;
    nursery.start(note_cancel(cancelled));
    nursery.start(note_cancel(cancelled));
    co_await yield();
    nursery.cancel();
    co_await nursery.join();
}

task<> join_of(int& cancelled) {
    scope nursery;
    nursery.start(note_cancel(cancelled));
    co_await nursery.join();
}

task<int> failing_body(scope& nursery, int& cancelled, std::string text) {
    nursery.start(note_cancel(cancelled));
    co_await sleep_for(1s);
    throw std::runtime_error(text);
}
task<std::string> good_body(scope& nursery, std::reference_wrapper<std::vector<int>> order, std::string text) {
    nursery.start(note_after(1s, order, 1));
    co_return text;
}
/// Not a coroutine itself.
task<> body_that_throws_at_once(scope& nursery, int& cancelled) {
    nursery.start(note_cancel(cancelled));
    throw std::runtime_error("at once");
}
task<> body_of_failing_child(scope& nursery, int& cancelled) {
    nursery.start(fail_after(1s, "child"));
    co_await note_cancel(cancelled);
}
task<int> body_that_cancels(scope& nursery) {
    nursery.cancel();
    co_await sleep_for(1s);
    co_return 1;
}

task<> hang_together(event& never) {
    scope nursery;
    auto child = [](event& what) -> task<> { co_await what.wait(); };
    nursery.start(child(never));
    nursery.start(child(never));
    co_await nursery.join();
}

task<> forget_join() {
    scope nursery;
    nursery.start(fail_after(1h, "never"));
    co_await yield();
}
task<> forget_error() {
    scope nursery;
    nursery.start(fail_after(0s, "lost"));
    co_await sleep_for(1s);
}

/// Returns what the program says when it is stopped; empty when it is not.
std::string last_words(void (*what)()) {
    int channel[2];
    REQUIRE(pipe(channel) == 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(channel[1], 2);
        signal(SIGABRT, SIG_DFL);
        what();
        _exit(0);
    }
    close(channel[1]);
    std::string text;
    char buffer[256];
    for (ssize_t got; (got = read(channel[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
    close(channel[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "";
}

}  // namespace

TEST_CASE("tasks of a scope run at the same time and join waits for the last") {
    event_loop loop(event_loop::virtual_time);
    const time_point begin = loop.now();
    std::vector<int> order;
    run(loop, three_at_once(order));
    CHECK(order == std::vector{1, 2, 3, 4});
    CHECK(loop.now() - begin == 4s);
}

TEST_CASE("the first error cancels the siblings, join throws it after all have ended and lists the others") {
    event_loop loop(event_loop::virtual_time);
    const time_point begin = loop.now();
    int cancelled = 0;
    run(loop, first_error(cancelled));
    CHECK(cancelled == 2);
    CHECK(loop.now() - begin == 1s);
}

TEST_CASE("a scope cancelled by its owner joins without an error") {
    event_loop loop(event_loop::virtual_time);
    int cancelled = 0;
    run(loop, cancel_all(cancelled));
    CHECK(cancelled == 2);
}

TEST_CASE("cancelling the task that joins cancels the children, and join throws cancelled when they have ended") {
    event_loop loop(event_loop::virtual_time);
    int cancelled = 0;
    CHECK_THROWS_WITH_AS(run(loop, with_deadline(join_of(cancelled), 1s)), "the deadline passed", failure);
    CHECK(cancelled == 1);
}

TEST_CASE("with_scope joins however its body ends") {
    event_loop loop(event_loop::virtual_time);
    int cancelled = 0;
    SUBCASE("with a value") {
        std::vector<int> order;
        CHECK(run(loop, with_scope(good_body, std::ref(order), std::string("good"))) == "good");
        CHECK(order == std::vector{1});
    }
    SUBCASE("with an exception") {
        CHECK_THROWS_WITH_AS(run(loop, with_scope(failing_body, std::ref(cancelled), std::string("bad"))), "bad", std::runtime_error);
        CHECK(cancelled == 1);
    }
    SUBCASE("with an exception, without being a coroutine") {
        CHECK_THROWS_WITH_AS(run(loop, with_scope(body_that_throws_at_once, std::ref(cancelled))), "at once", std::runtime_error);
        CHECK(cancelled == 1);
    }
    SUBCASE("when a child fails first") {
        CHECK_THROWS_WITH_AS(run(loop, with_scope(body_of_failing_child, std::ref(cancelled))), "child", std::runtime_error);
        CHECK(cancelled == 1);
    }
    SUBCASE("when it is cancelled through its scope and so has no value") {
        CHECK_THROWS_AS(run(loop, with_scope(body_that_cancels)), failure);
    }
    SUBCASE("when its awaiter is cancelled") {
        CHECK_THROWS_WITH_AS(run(loop, with_deadline(with_scope(body_of_failing_child, std::ref(cancelled)), 1ms)), "the deadline passed",
                             failure);
        CHECK(cancelled == 1);
    }
}

TEST_CASE("children that wait for ever are named, and destroyed without resuming") {
    event_loop loop(event_loop::virtual_time);
    event never;
    CHECK_THROWS_WITH(run(loop, hang_together(never)), doctest::Contains("hang_together (scope_test.cpp:"));
    never.set();
}

TEST_CASE("a scope outside of any loop must be told which") { CHECK_THROWS_AS(scope(), failure); }

TEST_CASE("leaving a scope whose tasks still run stops the program and names them") {
    const std::string text = last_words([] {
        event_loop loop(event_loop::virtual_time);
        run(loop, forget_join());
    });
    CAPTURE(text);
    CHECK(text.find("a scope is left while its tasks still run") != std::string::npos);
    CHECK(text.find("fail_after (scope_test.cpp:") != std::string::npos);
    CHECK(text.find("a timer due in 3600.000 s") != std::string::npos);
}

TEST_CASE("leaving a scope with an error nobody saw stops the program") {
    const std::string text = last_words([] {
        event_loop loop(event_loop::virtual_time);
        run(loop, forget_error());
    });
    CHECK(text.find("a task in it has failed") != std::string::npos);
}
