#include "support/allocations.hpp"

#include <tutti/scope.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

task<int> leaf(int value) {
    co_await yield();
    co_return value;
}
task<> nap() { co_await sleep_for(1ms); }

task<> one_of_each() {
    const int first = co_await leaf(1);
    const auto both = co_await when_all(leaf(2), leaf(3));
    CHECK(first + std::get<0>(both) + std::get<1>(both) == 6);
    co_await with_deadline(nap(), 1s);
    co_await when_any(nap(), leaf(4));
    scope nursery;
    nursery.start(nap());
    nursery.start(nap());
    co_await nursery.join();
}

task<std::size_t> count_after_warm_up() {
    for (int i = 0; i < 10; ++i) co_await leaf(i);
    co_await when_all(one_of_each(), one_of_each());
    const std::size_t before = test::own_allocations();
    for (int i = 0; i < 1000; ++i) co_await when_all(one_of_each(), one_of_each());
    co_return test::own_allocations() - before;
}

task<> many_at_once() {
    scope nursery;
    for (int i = 0; i < 1000; ++i) nursery.start(nap());
    co_await nursery.join();
}

struct large {
    char bytes[10'000] = {};
};
task<int> hold(large value) {
    co_await yield();
    co_return value.bytes[0];
}

}  // namespace

TEST_CASE("after warm-up tasks, scopes, sleeps and deadlines allocate nothing through operator new" *
          doctest::skip(!test::counts_allocations)) {
    event_loop loop(event_loop::virtual_time);
    CHECK(run(loop, count_after_warm_up()) == 0);
}

TEST_CASE("a frame may be freed on another thread than the one that made it, and after the pool was full") {
    event_loop loop(event_loop::virtual_time);
    auto made_here = leaf(5);
    std::thread([&loop, work = std::move(made_here)]() mutable { CHECK(run(loop, std::move(work)) == 5); }).join();
    run(loop, many_at_once());
    run(loop, many_at_once());
    CHECK(run(loop, hold(large())) == 0);
}
