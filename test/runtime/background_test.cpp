#include "runtime/background.hpp"

#include <tutti/sleep.hpp>

#include <doctest/doctest.h>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

struct witness {
    explicit witness(int& where) : count(where) { ++count; }
    ~witness() { --count; }
    int& count;
};

task<> stay(duration length, int& alive) {
    const witness here(alive);
    co_await sleep_for(length);
}

}  // namespace

TEST_CASE("background tasks run beside the main one and are freed at their ends") {
    event_loop loop(event_loop::virtual_time);
    background work(loop);
    int alive = 0;
    for (int each = 1; each <= 3; ++each) work.start(stay(each * 1s, alive));
    run(loop, stay(2500ms, alive));
    CHECK(alive == 1);
}

TEST_CASE("what has not ended is destroyed where it waits") {
    event_loop loop(event_loop::virtual_time);
    int alive = 0;
    {
        background work(loop);
        work.start(stay(1h, alive));
        run(loop, stay(1s, alive));
        CHECK(alive == 1);
    }
    CHECK(alive == 0);
}
