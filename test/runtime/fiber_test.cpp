#include <tutti/detail/future_source.hpp>
#include <tutti/fiber.hpp>
#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

#include <array>
#include <coroutine>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

using namespace tutti;
using namespace std::chrono_literals;
using detail::make_future;

namespace {

struct nobody final : detail::task_owner {
    void ended(detail::promise_base&) noexcept override {}
};
task<int> twice(int value) {
    co_await sleep_for(1s);
    co_return 2 * value;
}
struct number_at_once {
    int value;
};
auto operator co_await(number_at_once what) {
    struct awaiter {
        int value;
        bool await_ready() const noexcept { return true; }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        int await_resume() const noexcept { return value; }
    };
    return awaiter{what.value};
}
task<int> fail_soon() {
    co_await sleep_for(1s);
    throw std::runtime_error("soon");
}

int comparisons = 0;
int compare_slowly(const void* left, const void* right) {
    ++comparisons;
    const int mine = fiber::await(twice(*static_cast<const int*>(left)));
    return mine - fiber::await(twice(*static_cast<const int*>(right)));
}

/// Says when its stack frame is left.
struct frame {
    ~frame() { ++*left; }
    int* left;
};

}  // namespace

TEST_CASE("a callback of the C library waits without a coroutine on its stack, and the loop goes on meanwhile") {
    event_loop loop(event_loop::virtual_time);
    std::array values{5, 3, 9, 1, 7};
    comparisons = 0;
    auto sort = [&] { std::qsort(values.data(), values.size(), sizeof(int), compare_slowly); };
    const auto before = loop.now();
    run(loop, fiber::run(sort));
    CHECK(values == std::array{1, 3, 5, 7, 9});
    CHECK(comparisons > 0);
    CHECK(loop.now() - before == comparisons * 2s);
}

TEST_CASE("a fiber gets values, failures and exceptions from what it awaits, and gives its own to its task") {
    event_loop loop(event_loop::virtual_time);
    auto good = make_future<std::string>();
    good.second.set("ready");
    auto bad = make_future<>();
    bad.second.fail(failure(error::peer_died, "peer 1 is gone"));
    auto work = [&] {
        CHECK(fiber::await(std::move(good.first)) == "ready");
        CHECK_THROWS_AS(fiber::await(std::move(bad.first)), failure);
        CHECK_THROWS_WITH_AS(fiber::await(fail_soon()), "soon", std::runtime_error);
        fiber::await(sleep_for(1s));
        CHECK(fiber::await(number_at_once{4}) == 4);
        return std::make_unique<int>(fiber::await(twice(21)));
    };
    CHECK(*run(loop, fiber::run(work)) == 42);
    auto fails = [] { fiber::await(fail_soon()); };
    CHECK_THROWS_WITH_AS(run(loop, fiber::run(fails)), "soon", std::runtime_error);
}

TEST_CASE("a fiber that waits for another thread resumes on its loop") {
    event_loop loop;
    auto pair = make_future<int>();
    std::thread other;
    auto work = [&] {
        other = std::thread([&] { pair.second.set(4); });
        const int value = fiber::await(std::move(pair.first));
        return loop.here() ? value : -1;
    };
    CHECK(run(loop, fiber::run(work)) == 4);
    other.join();
}

TEST_CASE("inside and current tell whose stack it is") {
    event_loop loop(event_loop::virtual_time);
    CHECK_FALSE(fiber::inside());
    const fiber* first = nullptr;
    const fiber* second = nullptr;
    auto inner = [&] { second = fiber::current(); };
    auto outer = [&] {
        first = fiber::current();
        fiber::await(fiber::run(inner));
        CHECK(fiber::current() == first);
    };
    run(loop, fiber::run(outer));
    CHECK(first != nullptr);
    CHECK(second != nullptr);
    CHECK(first != second);
    CHECK(fiber::current() == nullptr);
}

TEST_CASE("waiting outside of a fiber is an invalid argument") {
    auto pair = make_future<>();
    CHECK_THROWS_AS(fiber::await(std::move(pair.first)), failure);
    CHECK_THROWS_AS(fiber::await(twice(1)), failure);
}

namespace {
task<> request_later(cancel_source& source) {
    co_await sleep_for(1s);
    source.request();
}
}  // namespace

TEST_CASE("cancelling its task cancels what a fiber waits for") {
    event_loop loop(event_loop::virtual_time);
    nobody owner;
    detail::future_source<>* source = nullptr;
    auto pair = make_future<>([&] { source->fail(failure(error::cancelled, "as you wish")); });
    source = &pair.second;
    auto work = [&] { fiber::await(std::move(pair.first)); };
    cancel_source cancel(loop);
    auto waits = fiber::run(work);
    auto canceller = request_later(cancel);
    waits.inner()->start(loop, cancel.token(), owner);
    canceller.inner()->start(loop, {}, owner);
    loop.run();
    CHECK_THROWS_WITH_AS(waits.inner()->take(), doctest::Contains("as you wish"), failure);
}

TEST_CASE("destroying the task of a fiber that waits unwinds its stack and abandons the operation") {
    event_loop loop(event_loop::virtual_time);
    nobody owner;
    int left = 0;
    int abandoned = 0;
    auto pair = make_future<>([&] { ++abandoned; });
    auto deep = [&](const auto& self, int depth) -> void {
        const frame here{&left};
        if (depth > 0) self(self, depth - 1);
        else fiber::await(std::move(pair.first));
    };
    {
        auto work = [&] { deep(deep, 9); };
        auto waits = fiber::run(work);
        waits.inner()->start(loop, {}, owner);
        loop.run();
        CHECK(left == 0);
        CHECK(abandoned == 0);
    }
    CHECK(left == 10);
    CHECK(abandoned == 1);
    loop.run();
}

namespace {
/// Waits while it handles an exception, as a clean-up in a catch block does.
std::string wait_in_catch(std::string name, duration time) {
    try {
        throw std::runtime_error(name);
    } catch (const std::runtime_error&) {
        fiber::await(sleep_for(time));
        try {
            throw;
        } catch (const std::runtime_error& again) {
            return again.what();
        }
    }
}
}  // namespace

TEST_CASE("fibers that wait inside catch blocks keep their own exceptions") {
    event_loop loop(event_loop::virtual_time);
    nobody owner;
    auto slow = [] { return wait_in_catch("slow", 3s); };
    auto quick = [] { return wait_in_catch("quick", 1s); };
    auto first = fiber::run(quick);
    auto second = fiber::run(slow);
    first.inner()->start(loop, {}, owner);  // begins first and ends first: not the order of a stack
    second.inner()->start(loop, {}, owner);
    loop.run();
    CHECK(first.inner()->take() == "quick");
    CHECK(second.inner()->take() == "slow");
}

TEST_CASE("a stack has the size that was asked for") {
    event_loop loop(event_loop::virtual_time);
    auto fill = [] {
        std::array<volatile char, 900 * KiB> much;
        for (std::size_t i = 0; i < much.size(); i += KiB) much[i] = 1;
        return static_cast<int>(much[0]);
    };
    CHECK(run(loop, fiber::run(fill, MiB)) == 1);
    for (const std::size_t impossible : {std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max() - 100})
        CHECK_THROWS_AS(run(loop, fiber::run(fill, impossible)), std::bad_alloc);
}

TEST_CASE("a thousand fibers wait at the same time") {
    event_loop loop(event_loop::virtual_time);
    nobody owner;
    int added = 0;
    auto work = [&] { added += fiber::await(twice(1)); };
    std::vector<task<>> fibers;
    for (int i = 0; i < 1000; ++i) {
        fibers.push_back(fiber::run(work, 32 * KiB));
        fibers.back().inner()->start(loop, {}, owner);
    }
    loop.run();
    CHECK(added == 2000);
}
