#include "support/allocations.hpp"

#include <tutti/detail/future_source.hpp>
#include <tutti/future.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;
using detail::make_future;

namespace {

static_assert(std::is_nothrow_move_constructible_v<future<>> && !std::is_copy_constructible_v<future<>>);
static_assert(std::is_nothrow_move_assignable_v<future<int>> && !std::is_copy_assignable_v<future<int>>);

const failure lost(error::peer_died, "peer 1 is gone");

template <class T>
task<T> await(future<T> what) {
    co_return co_await std::move(what);
}
task<error> code_of(future<int> what) {
    auto ended = co_await as_result(what);
    co_return ended ? error{} : static_cast<error>(ended.failure().code().value());
}

/// Like an engine's: made once, used again and again.
class pooled_state final : public detail::future_state {
public:
    pooled_state() { recycle(); }
    future<> issue() noexcept {
        renew();
        free = false;
        return future<>(*this);
    }
    void cancel() noexcept override { ++cancels; }
    void abandon() noexcept override { ++abandons; }

    bool free = false;
    int cancels = 0;
    int abandons = 0;

private:
    void recycle() noexcept override { free = true; }
};

/// A coroutine type that knows nothing of this library.
struct foreign {
    struct promise_type {
        foreign get_return_object() { return foreign{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};
foreign note_thread(future<>& what, std::thread::id& where) {
    co_await what;
    where = std::this_thread::get_id();
}
foreign note_loop(future<>& what, event_loop*& where) {
    co_await what;
    where = event_loop::current();
}

}  // namespace

TEST_CASE("a future that has ended is awaited without suspension") {
    event_loop loop(event_loop::virtual_time);
    auto [f, source] = make_future<int>();
    source.set(7);
    CHECK(f.ready());
    CHECK(run(loop, await(std::move(f))) == 7);
}

TEST_CASE("a state for which nobody waits is ended at once, and one for which somebody does is left as it is") {
    struct waiter final : detail::runnable {
        void run() noexcept override { ++runs; }
        int runs = 0;
    } waits;
    pooled_state state;
    const auto first = state.issue();
    CHECK(state.finish_unless_awaited());
    CHECK(first.ready());
    CHECK_FALSE(state.wait(waits));
    pooled_state other;
    const auto second = other.issue();
    REQUIRE(other.wait(waits));
    CHECK_FALSE(other.finish_unless_awaited());
    CHECK_FALSE(second.ready());
    CHECK(waits.runs == 0);
    other.finish();
    CHECK(waits.runs == 1);
    state.release();
    other.release();
}

namespace {
struct nobody final : detail::task_owner {
    void ended(detail::promise_base&) noexcept override {}
};
task<bool> resumes_in_turn(pooled_state& state, future<> f) {
    struct finisher final : detail::runnable {
        void run() noexcept override {
            state->finish();
            state->release();
            left = true;
        }
        pooled_state* state = nullptr;
        bool left = false;
    } finish;
    finish.state = &state;
    auto& loop = co_await this_loop;
    loop.post(finish);
    co_await std::move(f);
    co_return finish.left;
}
}  // namespace

TEST_CASE("the awaiter is resumed through its loop, never from within finish") {
    event_loop loop(event_loop::virtual_time);
    pooled_state state;
    CHECK(run(loop, resumes_in_turn(state, state.issue())));
    CHECK(state.free);
}

TEST_CASE("a value that comes from another thread arrives on the awaiter's loop") {
    event_loop loop;
    auto pair = make_future<std::string>();
    std::thread other([&] { pair.second.set("hello"); });
    CHECK(run(loop, await(std::move(pair.first))) == "hello");
    other.join();
}

TEST_CASE("co_await throws the failure, as_result returns it") {
    event_loop loop(event_loop::virtual_time);
    auto [first, first_source] = make_future<int>();
    first_source.fail(lost);
    CHECK_THROWS_WITH_AS(run(loop, await(std::move(first))), lost.what(), failure);
    auto [second, second_source] = make_future<int>();
    second_source.fail(lost);
    CHECK(run(loop, code_of(std::move(second))) == error::peer_died);
    auto [third, third_source] = make_future<int>();
    third_source.set(1);
    CHECK(run(loop, code_of(std::move(third))) == error{});
}

TEST_CASE("a source that goes away ends its future with cancelled") {
    auto pair = make_future<int>();
    { const auto gone = std::move(pair.second); }
    REQUIRE(pair.first.ready());
    event_loop loop(event_loop::virtual_time);
    CHECK(run(loop, code_of(std::move(pair.first))) == error::cancelled);
}

namespace {
task<error> awaited_twice() {
    auto pair = make_future<>();
    pair.second.set();
    co_await pair.first;
    try {
        co_await pair.first;
    } catch (const failure& what) {
        co_return static_cast<error>(what.code().value());
    }
    co_return error{};
}
}  // namespace

TEST_CASE("a deadline ends a future that takes too long") {
    event_loop loop(event_loop::virtual_time);
    detail::future_source<>* source = nullptr;
    auto pair = make_future<>([&] { source->fail(failure(error::cancelled, "as you wish")); });
    source = &pair.second;
    error code{};
    try {
        run(loop, with_deadline(std::move(pair.first), 1s));
    } catch (const failure& what) {
        code = static_cast<error>(what.code().value());
    }
    CHECK(code == error::timed_out);
}

TEST_CASE("a second await of the same future is an invalid argument") {
    event_loop loop(event_loop::virtual_time);
    CHECK(run(loop, awaited_twice()) == error::invalid_argument);
    future<int> empty;
    CHECK_FALSE(empty.valid());
    CHECK_THROWS_AS(empty.get(), failure);
}

namespace {
task<> cancel_it(cancel_source& source) {
    co_await sleep_for(1s);
    source.request();
}
/// Runs `what` under a token that is cancelled after a second.
template <class T>
T run_and_cancel(event_loop& loop, task<T> what, nobody& owner) {
    cancel_source source(loop);
    auto canceller = cancel_it(source);
    canceller.inner()->start(loop, {}, owner);
    what.inner()->start(loop, source.token(), owner);
    loop.run();
    return what.inner()->take();
}
}  // namespace

TEST_CASE("a cancelled task asks its future to end, and still waits for that end") {
    event_loop loop(event_loop::virtual_time);
    nobody owner;
    detail::future_source<int>* source = nullptr;
    auto pair = make_future<int>([&] { source->fail(failure(error::cancelled, "as you wish")); });
    source = &pair.second;
    CHECK(run_and_cancel(loop, code_of(std::move(pair.first)), owner) == error::cancelled);

    auto deaf = make_future<int>([&] { source->set(5); });  // too late to cancel: the result counts
    source = &deaf.second;
    CHECK(run_and_cancel(loop, await(std::move(deaf.first)), owner) == 5);
}

TEST_CASE("a future awaited by a task that is cancelled already is asked to end at once") {
    event_loop loop(event_loop::virtual_time);
    nobody owner;
    cancel_source cancelled(loop);
    cancelled.request();
    detail::future_source<int>* source = nullptr;
    auto pair = make_future<int>([&] { source->fail(failure(error::cancelled, "as you wish")); });
    source = &pair.second;
    auto waits = code_of(std::move(pair.first));
    waits.inner()->start(loop, cancelled.token(), owner);
    loop.run();
    CHECK(waits.inner()->take() == error::cancelled);
}

TEST_CASE("dropping an unfinished future abandons its operation once, dropping a finished one does not") {
    pooled_state state;
    { const auto dropped = state.issue(); }
    CHECK(state.abandons == 1);
    CHECK_FALSE(state.free);
    state.finish();
    state.release();
    CHECK(state.free);
    {
        const auto ended = state.issue();
        state.finish();
        state.release();
    }
    CHECK(state.abandons == 1);
    CHECK(state.free);
}

TEST_CASE("destroying a task in the middle of its await abandons the operation") {
    event_loop loop(event_loop::virtual_time);
    nobody owner;
    pooled_state state;
    {
        auto waits = await(state.issue());
        waits.inner()->start(loop, {}, owner);
        loop.run();
        CHECK(state.abandons == 0);
    }
    CHECK(state.abandons == 1);
    state.finish();
    state.release();
    {
        auto waits = await(state.issue());
        waits.inner()->start(loop, {}, owner);
        loop.run();
        state.finish();  // the task is in the loop's queue now
        state.release();
    }
    CHECK(state.abandons == 1);
    CHECK(state.free);
    loop.run();
}

TEST_CASE("get blocks a plain thread until the end") {
    auto [f, source] = make_future<int>();
    std::thread other([&source = source] {
        std::this_thread::yield();
        source.set(3);
    });
    CHECK(f.get() == 3);
    CHECK_FALSE(f.valid());
    other.join();
    auto [bad, bad_source] = make_future<>();
    bad_source.fail(lost);
    CHECK_THROWS_WITH_AS(bad.get(), lost.what(), failure);
}

TEST_CASE("wait_for tells whether the future has ended in time, and can be asked again") {
    auto [f, source] = make_future<>();
    CHECK_FALSE(f.wait_for(0s));
    CHECK_FALSE(f.wait_for(1ms));
    std::thread other([&source = source] { source.set(); });
    CHECK(f.wait_for(duration::max()));
    other.join();
    CHECK(f.wait_for(0s));
    f.get();
}

namespace {
task<error> block_here(future<>& f) {
    try {
        f.get();
    } catch (const failure& what) {
        co_return static_cast<error>(what.code().value());
    }
    co_return error{};
}
}  // namespace

TEST_CASE("blocking on the thread of a loop is refused, unless there is nothing to wait for") {
    event_loop loop(event_loop::virtual_time);
    auto [f, source] = make_future<>();
    CHECK(run(loop, block_here(f)) == error::invalid_argument);
    CHECK(f.valid());
    source.set();
    CHECK(run(loop, block_here(f)) == error{});
}

TEST_CASE("a foreign coroutine resumes on the loop it awaits on, and elsewhere on the thread that finishes") {
    auto pair = make_future<>();
    std::thread::id where;
    auto waits = note_thread(pair.first, where);
    CHECK(where == std::thread::id());
    std::thread other([&] { pair.second.set(); });
    const auto expected = other.get_id();
    other.join();
    CHECK(where == expected);
    waits.handle.destroy();

    struct starter final : detail::runnable {
        void run() noexcept override { handle = note_loop(*f, where).handle; }
        future<>* f = nullptr;
        event_loop* where = nullptr;
        std::coroutine_handle<> handle;
    } start;
    event_loop loop(event_loop::virtual_time);
    auto on_loop = make_future<>();
    start.f = &on_loop.first;
    loop.post(start);
    loop.run();
    on_loop.second.set();
    CHECK(start.where == nullptr);
    loop.run();
    CHECK(start.where == &loop);
    start.handle.destroy();
}

namespace {
task<std::size_t> count_allocations(pooled_state& state, int rounds) {
    struct finisher final : detail::runnable {
        void run() noexcept override {
            state->finish();
            state->release();
        }
        pooled_state* state = nullptr;
    } finish;
    finish.state = &state;
    auto& loop = co_await this_loop;
    const std::size_t before = test::own_allocations();
    for (int i = 0; i < rounds; ++i) {
        auto f = state.issue();
        loop.post(finish);
        co_await f;
    }
    co_return test::own_allocations() - before;
}
}  // namespace

TEST_CASE("awaiting a pooled operation allocates nothing" * doctest::skip(!test::counts_allocations)) {
    event_loop loop(event_loop::virtual_time);
    pooled_state state;
    CHECK(run(loop, count_allocations(state, 1000)) == 0);
}

TEST_CASE("a task that waits for ever says that it waits for a future") {
    event_loop loop(event_loop::virtual_time);
    auto pair = make_future<int>();
    std::string text;
    try {
        run(loop, await(std::move(pair.first)));
    } catch (const failure& what) {
        text = what.what();
    }
    CHECK_MESSAGE(text.find("a future") != std::string::npos, text);
}
