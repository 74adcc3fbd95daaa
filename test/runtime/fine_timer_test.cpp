#include "runtime/fine_timer.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>

#include <optional>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

/// Counts how often its date came, and starts again as often as it is told to.
class ticker final {
public:
    explicit ticker(event_loop& loop, int more = 0) : loop_(loop), more_(more), timer(loop, come_) {}

    int came = 0;
    time_point last{};

private:
    void come() noexcept {
        ++came;
        last = loop_.now();
        if (more_-- > 0) timer.start(last + 20us);
        else loop_.stop();
    }

    event_loop& loop_;
    int more_;
    detail::callback<&ticker::come> come_{*this};

public:
    fine_timer timer;
};

template <class Body>
void in_virtual_and_in_real_time(Body body) {
    for (const bool is_virtual : {true, false}) {
        CAPTURE(is_virtual);
        std::optional<event_loop> loop;
        if (is_virtual) loop.emplace(event_loop::virtual_time);
        else loop.emplace();
        body(*loop, loop->now());
    }
}

}  // namespace

TEST_CASE("a fine timer comes at its date, again and again, in virtual and in real time") {
    in_virtual_and_in_real_time([](event_loop& loop, time_point begin) {
        ticker one(loop, 9);
        one.timer.start(begin + 50us);
        CHECK(one.timer.when() == begin + 50us);
        loop.run();
        CHECK(one.came == 10);
        CHECK(one.last >= begin + 50us + 9 * 20us);
        if (loop.has_virtual_time()) CHECK(one.last == begin + 50us + 9 * 20us);
        CHECK(one.timer.when() == no_deadline);
    });
}

TEST_CASE("a fine timer that is stopped, or started anew, does not come at its first date") {
    in_virtual_and_in_real_time([](event_loop& loop, time_point begin) {
        ticker stopped(loop), moved(loop);
        {
            ticker gone(loop);
            gone.timer.start(begin + 10us);
        }
        stopped.timer.start(begin + 10us);
        stopped.timer.stop();
        moved.timer.start(begin + 10us);
        moved.timer.start(begin + 2ms);
        loop.run();
        CHECK(stopped.came == 0);
        CHECK(moved.came == 1);
        CHECK(moved.last >= begin + 2ms);
    });
}

TEST_CASE("a fine timer that is stopped and started for the same date does not come before it") {
    in_virtual_and_in_real_time([](event_loop& loop, time_point begin) {
        ticker one(loop);
        one.timer.start(begin + 2ms);
        one.timer.stop();
        one.timer.start(begin + 2ms);
        loop.run();
        CHECK(one.came == 1);
        CHECK(one.last >= begin + 2ms);
    });
}

TEST_CASE("a guest's fine timer comes by the host's clock, on the loop") {
    asio::io_context context;
    event_loop loop{host{context.get_executor()}};
    ticker one(loop, 3);
    one.timer.start(loop.now() + 30us);
    context.run();
    CHECK(one.came == 4);
}
