// A program's signals are for the program's threads.
#include <tutti/context.hpp>

#include "support/ranks.hpp"
#include "support/signals.hpp"
#include "transport/tcp_transport.hpp"

#include <doctest/doctest.h>

namespace signals_test {

using namespace tutti;

namespace {

task<std::string> reach_by_name(event_loop& loop, bool& done) {
    auto listening = tcp_transport::listen(loop, tcp_options("127.0.0.1"));
    const std::unique_ptr<tcp_transport> there = std::move(listening).value();
    const std::string address = there->address();
    auto made = co_await there->connect("localhost" + address.substr(address.rfind(':')), loop.now() + std::chrono::seconds(10));
    done = made.has_value();
    co_return made ? "" : made.failure().what();
}

}  // namespace

TEST_CASE("no thread that the library starts takes a signal of the process: not for progress, nor for lanes, nor to look up a name") {
    const std::size_t before = test::blocked_by_others().size();
    context_options options;
    options.threads = 3;
    const context home(options);
    event_loop loop;
    bool done = false;
    CHECK(run(loop, reach_by_name(loop, done)) == "");
    CHECK(done);
    const auto masks = test::blocked_by_others();
    CHECK(masks.size() >= before + 3);  // that of the name may be ending, and a sanitizer may have one, too
    for (const std::uint64_t each : masks) CHECK(test::takes_none(each));
}

}  // namespace signals_test
