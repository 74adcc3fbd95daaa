#include <tutti/error.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include <doctest/doctest.h>

#include <stdexcept>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

task<int> answer() { co_return 42; }
task<long> sum_of_many(int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) sum += co_await answer();
    co_return sum;
}
task<> fail_later() {
    co_await sleep_for(1s);
    throw std::runtime_error("later");
}

}  // namespace

TEST_CASE("a million awaits that end at once need no stack") {
    event_loop loop(event_loop::virtual_time);
    CHECK(run(loop, sum_of_many(1'000'000)) == 42'000'000);
}

TEST_CASE("an exception comes out of the await") {
    event_loop loop(event_loop::virtual_time);
    CHECK_THROWS_WITH_AS(run(loop, fail_later()), "later", std::runtime_error);
}
