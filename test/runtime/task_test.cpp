#include <tutti/error.hpp>
#include <tutti/event.hpp>
#include <tutti/result.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>


#include <doctest/doctest.h>

#include <coroutine>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<task<int>> && !std::is_copy_assignable_v<task<int>>);
static_assert(std::is_nothrow_move_constructible_v<task<int>> && std::is_nothrow_move_assignable_v<task<int>>);
static_assert(!std::is_default_constructible_v<task<>>);
template <class Awaitable>
concept awaited_as_lvalue = requires(Awaitable& what) { what.operator co_await(); };
static_assert(!awaited_as_lvalue<task<>>, "a task is awaited once: only as an rvalue");
template <class Value, class T>
concept returned_by = requires(detail::promise<T>& to, Value&& value) {
    to.return_value(std::forward<Value>(value));
};
static_assert(returned_by<const char*, std::string> && returned_by<failure, result<int>> &&
              returned_by<std::nullptr_t, std::shared_ptr<int>> && returned_by<std::unique_ptr<int>, std::unique_ptr<const int>>);
static_assert(!returned_by<int, std::vector<int>> && !returned_by<int*, std::unique_ptr<int>>,
              "as from a function: without explicit constructors");

namespace {

task<int> answer() { co_return 42; }

task<long> sum_of_many(int count) {
    long added = 0;
    for (int i = 0; i < count; ++i) added += co_await answer();
    co_return added;
}

task<int> answer_later() {
    co_await yield();
    co_return 42;
}

task<long> sum_of_many_later(int count) {
    long added = 0;
    for (int i = 0; i < count; ++i) added += co_await answer_later();
    co_return added;
}

task<> note(bool& begun) {
    begun = true;
    co_return;
}

task<std::unique_ptr<int>> make_owner(int value) { co_return std::make_unique<int>(value); }
task<int&> borrow(int& value) { co_return value; }
task<std::string> text_of(std::unique_ptr<int> value) { co_return std::to_string(*value); }

task<std::string> use_all(int& target) {
    std::unique_ptr<int> owner = co_await make_owner(7);
    int& same = co_await borrow(target);
    same = *owner;
    co_return co_await text_of(std::move(owner));
}

task<> fail_after(duration length) {
    co_await sleep_for(length);
    throw std::runtime_error("later");
}

task<int> survive() {
    int caught = 0;
    try {
        co_await fail_after(1s);
    } catch (const std::runtime_error&) {
        ++caught;
    }
    try {
        co_await fail_after(0s);
    } catch (const std::runtime_error&) {
        ++caught;
    }
    co_return caught;
}

class witness {
public:
    explicit witness(int& alive) : alive_(alive) { ++alive_; }
    witness(const witness& other) : alive_(other.alive_) { ++alive_; }
    ~witness() { --alive_; }

private:
    int& alive_;
};

task<> hold(witness) { co_return; }

task<> inner_wait(event& never, int& alive) {
    const witness mine(alive);
    co_await never.wait();
    FAIL("it is never set");
}
task<> outer_wait(event& never, int& alive) {
    const witness mine(alive);
    co_await inner_wait(never, alive);
    FAIL("it is never set");
}

task<> stop_loop(event& never, int& alive) {
    (co_await this_loop).stop();
    co_await outer_wait(never, alive);
}

task<> run_again(event_loop& loop) {
    run(loop, answer());
    co_return;
}

task<long> depth(int levels) {
    if (levels == 0) {
        co_await yield();
        co_return 0;
    }
    co_return 1 + co_await depth(levels - 1);
}

}  // namespace

TEST_CASE("a million awaits that end at once need no stack") {
    event_loop loop(event_loop::virtual_time);
    CHECK(run(loop, sum_of_many(1'000'000)) == 42'000'000);
}

TEST_CASE("many awaits that end later need no stack either") {
    event_loop loop(event_loop::virtual_time);
    CHECK(run(loop, sum_of_many_later(300'000)) == 300'000 * 42L);
}

TEST_CASE("a deep chain of tasks ends from the innermost outwards") {
    event_loop loop(event_loop::virtual_time);
    CHECK(run(loop, depth(2'000)) == 2'000);
}

TEST_CASE("a task does nothing until it is awaited") {
    bool begun = false;
    event_loop loop(event_loop::virtual_time);
    auto lazy = note(begun);
    CHECK_FALSE(begun);
    run(loop, std::move(lazy));
    CHECK(begun);
}

TEST_CASE("an unstarted task can be dropped and frees what it was given") {
    int alive = 0;
    {
        const auto dropped = hold(witness(alive));
        CHECK(alive == 1);
    }
    CHECK(alive == 0);
}

TEST_CASE("values that only move and references come out of an await") {
    event_loop loop(event_loop::virtual_time);
    int target = 0;
    CHECK(run(loop, use_all(target)) == "7");
    CHECK(target == 7);
}

TEST_CASE("an exception comes out of the await") {
    event_loop loop(event_loop::virtual_time);
    CHECK_THROWS_WITH_AS(run(loop, fail_after(1s)), "later", std::runtime_error);
    CHECK(run(loop, survive()) == 2);
}

namespace {

struct picky {
    bool refuses = false;
};
std::suspend_never operator co_await(picky what) {
    if (what.refuses) throw std::runtime_error("not this one");
    return {};
}
task<> await_both() {
    co_await picky{};
    co_await picky{true};
}

}  // namespace

TEST_CASE("what an awaitable throws while it is asked for its awaiter comes out of the await") {
    event_loop loop(event_loop::virtual_time);
    CHECK_THROWS_WITH_AS(run(loop, await_both()), "not this one", std::runtime_error);
}

TEST_CASE("when nothing can run any more the failure tells who waits for what") {
    event_loop loop(event_loop::virtual_time);
    event never;
    int alive = 0;
    std::string text;
    try {
        run(loop, outer_wait(never, alive));
    } catch (const failure& why) {
        text = why.what();
        CHECK(why.code() == error::timed_out);
    }
    CAPTURE(text);
    CHECK(text.starts_with("nothing can run any more, but the task has not ended:\n"));
    const auto outer = text.find("outer_wait (task_test.cpp:");
    const auto inner = text.find("\n  ", outer + 1);
    CHECK(outer != std::string::npos);
    CHECK(text.find("inner_wait (task_test.cpp:", inner) != std::string::npos);
    CHECK(text.ends_with("\n    an event\n"));
    CHECK(alive == 0);
}

TEST_CASE("tasks that a stopped loop leaves waiting are destroyed without resuming") {
    int alive = 0;
    event never;
    event_loop loop;
    CHECK_THROWS_WITH_AS(run(loop, stop_loop(never, alive)), doctest::Contains("the loop was stopped before the task ended"), failure);
    CHECK(alive == 0);
    never.set();  // no task waits any more
}

TEST_CASE("a loop is not run from within") {
    event_loop loop(event_loop::virtual_time);
    CHECK_THROWS_WITH_AS(run(loop, run_again(loop)), doctest::Contains("await the task instead"), failure);
}
