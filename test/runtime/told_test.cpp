#include "runtime/told.hpp"

#include <tutti/detail/future_source.hpp>
#include <tutti/future.hpp>
#include <tutti/task.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace tutti;
using detail::make_future;

namespace {

const failure gone(error::peer_died, "peer 1 is gone");

task<error> code_heard(future<int> what) {
    auto ended = co_await as_result(what);
    co_return ended ? error{} : static_cast<error>(ended.failure().code().value());
}

}  // namespace

TEST_CASE("a loop knows of which failures its code has heard, by their cause") {
    event_loop loop(event_loop::virtual_time), other(event_loop::virtual_time);
    auto [awaited, ends] = make_future<int>();
    auto [dropped, never_seen] = make_future<int>();
    ends.fail(gone);
    never_seen.fail(failure(error::aborted, "enough"));
    CHECK_FALSE(detail::was_told(loop, gone));
    CHECK(run(loop, code_heard(std::move(awaited))) == error::peer_died);
    CHECK(detail::was_told(loop, gone));
    CHECK(detail::was_told(loop, failure(error::peer_died, "peer 1 is gone")));
    CHECK_FALSE(detail::was_told(loop, failure(error::peer_died, "peer 2 is gone")));
    CHECK_FALSE(detail::was_told(loop, failure(error::aborted, "enough")));
    CHECK_FALSE(detail::was_told(other, gone));
}

TEST_CASE("of many failures the last ones are known") {
    detail::told_failures all;
    const auto number = [](std::size_t i) { return failure(error::timed_out, std::to_string(i)); };
    for (std::size_t i = 0; i <= detail::told_failures::limit; ++i) all.add(number(i));
    CHECK_FALSE(all.has(number(0)));
    for (std::size_t i = 1; i <= detail::told_failures::limit; ++i) CHECK(all.has(number(i)));
}
