// The timers of a guest, which its host knows by a descriptor only.
#include <tutti/asio.hpp>
#include <tutti/detail/timer.hpp>
#include <tutti/sleep.hpp>
#include <tutti/task.hpp>

#include "runtime/asio.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

class never_due final : public detail::timer {
    void run() noexcept override { FAIL("its date is far"); }
};

task<> take_short_naps() {
    for (int length = 0; length < 3000; ++length) co_await sleep_for(std::chrono::nanoseconds(50 * length));
}

}  // namespace

TEST_CASE("a guest does nothing until its next date, whatever nearer ones came and went") {
    asio::io_context context;
    event_loop loop{host{context.get_executor()}};
    never_due far, near, farther;
    const time_point now = loop.now();
    loop.start_timer(far, now + 1h);
    context.poll();
    asio::post(context, [&] {
        loop.start_timer(near, now + 30min);
        loop.stop_timer(near);
        loop.start_timer(farther, now + 2h);
    });
    int handlers = 0;
    while (handlers < 100 && context.poll_one() > 0) ++handlers;
    CHECK(handlers < 10);
    loop.stop_timer(far);
    loop.stop_timer(farther);
}

TEST_CASE("a guest misses no date, however near it is") {
    asio::io_context host;
    event_loop guest{tutti::host(host.get_executor())};
    bool ended = false;
    async_run(guest, take_short_naps(), [&](std::exception_ptr) { ended = true; });
    asio::steady_timer patience(host, 20s);
    patience.async_wait([&](boost::system::error_code) { host.stop(); });
    while (!ended && !host.stopped()) host.run_one();
    CHECK(ended);
}
