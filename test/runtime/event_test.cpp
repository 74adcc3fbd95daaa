#include <tutti/when_all.hpp>

#include "runtime/event.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

task<> wait_and_note(event& what, std::vector<int>& order, int mine) {
    co_await what.wait();
    order.push_back(mine);
}
task<> set_later(event& what, std::vector<int>& order) {
    co_await sleep_for(1s);
    what.set();
    order.push_back(0);  // those who waited go on later, not inside set()
}

}  // namespace

TEST_CASE("an event lets all go on in the order in which they came, after set returns") {
    event_loop loop(event_loop::virtual_time);
    event what;
    std::vector<int> order;
    run(loop, when_all(wait_and_note(what, order, 1), wait_and_note(what, order, 2), set_later(what, order)));
    CHECK(order == std::vector{0, 1, 2});
    run(loop, wait_and_note(what, order, 3));  // it stays set
    what.reset();
    CHECK_FALSE(what.is_set());
    CHECK_THROWS_WITH(run(loop, wait_and_note(what, order, 4)), doctest::Contains("an event"));
    CHECK(order == std::vector{0, 1, 2, 3});
}
