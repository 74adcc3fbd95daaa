#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

task<duration> measure(duration length) {
    event_loop& loop = co_await this_loop;
    const time_point begin = loop.now();
    co_await sleep_for(length);
    co_return loop.now() - begin;
}

task<duration> measure_until(duration offset) {
    event_loop& loop = co_await this_loop;
    const time_point begin = loop.now();
    co_await sleep_until(begin + offset);
    co_return loop.now() - begin;
}

task<cancel_token> token_of_main() { co_return co_await this_token; }

}  // namespace

TEST_CASE("a task sleeps exactly as long as it asks, on a virtual clock") {
    event_loop loop(event_loop::virtual_time);
    for (const duration length : {duration(0), duration(1), duration(24h)}) {
        CHECK(run(loop, measure(length)) == length);
        CHECK(run(loop, measure_until(length)) == length);
    }
    CHECK(run(loop, measure_until(-1s)) == 0s);
}

TEST_CASE("a task sleeps at least as long as it asks, on a real clock") {
    event_loop loop;
    CHECK(run(loop, measure(3ms)) >= 3ms);
}

TEST_CASE("a task nobody can cancel has no token") {
    event_loop loop(event_loop::virtual_time);
    CHECK_FALSE(run(loop, token_of_main()));
}

TEST_CASE("a sleep without end is told in the explanation") {
    event_loop loop(event_loop::virtual_time);
    CHECK_THROWS_WITH(run(loop, measure_until(no_deadline - time_point())), doctest::Contains("a date that never comes"));
    CHECK_THROWS_WITH(run(loop, measure(duration::max())), doctest::Contains("a date that never comes"));
}
