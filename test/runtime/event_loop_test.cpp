#include <tutti/event_loop.hpp>

#include "runtime/asio.hpp"

#include <doctest/doctest.h>

#include <boost/asio/connect_pipe.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace tutti;
using namespace std::chrono_literals;

namespace {

class work final : public detail::timer {
public:
    explicit work(std::function<void()> what) : what_(std::move(what)) {}
    void run() noexcept override { what_(); }

private:
    std::function<void()> what_;
};

/// How often this thread has slept so far.
long sleeps() {
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
}

}  // namespace

TEST_CASE("work runs in the order in which it was posted") {
    event_loop loop(event_loop::virtual_time);
    std::vector<int> order;
    work first([&] { order.push_back(1); });
    work third([&] { order.push_back(3); });
    work second([&] {
        order.push_back(2);
        loop.post(third);
    });
    loop.post(first);
    loop.post(second);
    loop.run();
    CHECK(order == std::vector{1, 2, 3});
}

TEST_CASE("what another thread posted before runs before what the loop posts itself") {
    event_loop loop(event_loop::virtual_time);
    std::vector<int> order;
    work theirs([&] { order.push_back(1); });
    work ours([&] { order.push_back(2); });
    work both([&] {
        std::thread([&] { loop.post(theirs); }).join();
        loop.post(ours);
    });
    loop.post(both);
    loop.run();
    CHECK(order == std::vector{1, 2});
}

TEST_CASE("withdrawn work does not run and its neighbours do") {
    event_loop loop(event_loop::virtual_time);
    std::vector<int> order;
    work first([&] { order.push_back(1); });
    work second([&] { order.push_back(2); });
    work third([&] { order.push_back(3); });
    for (work* each : {&first, &second, &third}) loop.post(*each);
    loop.withdraw(second);
    loop.withdraw(second);  // nothing happens when it is not queued
    loop.run();
    CHECK(order == std::vector{1, 3});
}

TEST_CASE("work may withdraw what is queued behind it") {
    event_loop loop(event_loop::virtual_time);
    work victim([] { FAIL("it was withdrawn"); });
    work chief([&] { loop.withdraw(victim); });
    loop.post(chief);
    loop.post(victim);
    loop.run();
}

TEST_CASE("virtual time stands still while anything can run and then jumps to the next timer") {
    event_loop loop(event_loop::virtual_time);
    const time_point begin = loop.now();
    std::vector<duration> fired;
    work late([&] { fired.push_back(loop.now() - begin); });
    work soon([&] { fired.push_back(loop.now() - begin); });
    work busy([&] { CHECK(loop.now() == begin); });
    loop.start_timer(late, begin + 1h);
    loop.start_timer(soon, begin + 1s);
    loop.post(busy);
    loop.run();
    CHECK(fired == std::vector<duration>{1s, 1h});
}

TEST_CASE("timers fire by date, and in the order of starting when dates are equal") {
    event_loop loop(event_loop::virtual_time);
    std::mt19937 random(7);
    std::vector<std::pair<duration, int>> expected, fired;
    std::vector<std::unique_ptr<work>> timers;
    for (int i = 0; i < 500; ++i) {
        const duration after = std::chrono::milliseconds(random() % 50);
        timers.push_back(std::make_unique<work>([&fired, after, i] { fired.emplace_back(after, i); }));
        loop.start_timer(*timers.back(), loop.now() + after);
        if (random() % 3 == 0) {
            loop.stop_timer(*timers.back());
            CHECK_FALSE(timers.back()->started());
        } else {
            expected.emplace_back(after, i);
        }
    }
    std::stable_sort(expected.begin(), expected.end());
    loop.run();
    CHECK(fired == expected);
}

TEST_CASE("a timer that fires may stop another that is due and start itself again") {
    event_loop loop(event_loop::virtual_time);
    int fired = 0;
    work never([] { FAIL("it was stopped"); });
    work again([&] {
        loop.stop_timer(never);
        if (++fired < 3) loop.start_timer(again, loop.now());
    });
    loop.start_timer(again, loop.now());
    loop.start_timer(never, loop.now());
    loop.run();
    CHECK(fired == 3);
}

TEST_CASE("a timer without a date never fires and keeps nobody waiting") {
    event_loop loop(event_loop::virtual_time);
    work never([] { FAIL("there is no such date"); });
    loop.start_timer(never, no_deadline);
    loop.run();
    loop.stop_timer(never);
}

TEST_CASE("stop ends the run after the current work and the next run goes on") {
    event_loop loop(event_loop::virtual_time);
    int ran = 0;
    work first([&] {
        ++ran;
        loop.stop();
    });
    work second([&] { ++ran; });
    loop.post(first);
    loop.post(second);
    loop.run();
    CHECK(ran == 1);
    loop.run();
    CHECK(ran == 2);
}

TEST_CASE("a stop that comes before the run ends it at once") {
    event_loop loop;
    loop.stop();
    loop.run();
}

TEST_CASE("a loop knows whether this thread runs it") {
    event_loop outer(event_loop::virtual_time);
    event_loop inner(event_loop::virtual_time);
    CHECK(event_loop::current() == nullptr);
    work nested([&] {
        CHECK(inner.here());
        CHECK_FALSE(outer.here());
    });
    work first([&] {
        CHECK(event_loop::current() == &outer);
        inner.post(nested);
        inner.run();
        CHECK(outer.here());
        std::thread([&] { CHECK_FALSE(outer.here()); }).join();
    });
    outer.post(first);
    outer.run();
    CHECK_FALSE(outer.here());
}

TEST_CASE("a loop destroyed with queued work and started timers lets them go") {
    work queued([] { FAIL("nobody runs it"); });
    work started([] { FAIL("nobody runs it"); });
    {
        event_loop loop;
        loop.post(queued);
        loop.start_timer(started, loop.now());
    }
    CHECK_FALSE(started.started());
    int ran = 0;
    event_loop other(event_loop::virtual_time);
    work again([&] { ++ran; });
    other.post(again);
    other.post(queued);  // it is free to be queued again
    other.withdraw(queued);
    other.run();
    CHECK(ran == 1);
}

TEST_CASE("four threads post while the loop runs and nothing is lost") {
    constexpr int per_thread = 20'000;
    event_loop loop;
    int ran = 0;  // without a lock: the loop's own
    int last[4] = {-1, -1, -1, -1};
    bool in_order = true;
    std::vector<std::vector<std::unique_ptr<work>>> posts(4);
    for (std::size_t thread = 0; thread < 4; ++thread)
        for (int i = 0; i < per_thread; ++i)
            posts[thread].push_back(std::make_unique<work>([&, thread, i] {
                in_order = in_order && last[thread] < i;
                last[thread] = i;
                if (++ran == 4 * per_thread) loop.stop();
            }));
    std::vector<std::thread> threads;
    for (auto& mine : posts)
        threads.emplace_back([&] {
            for (auto& each : mine) loop.post(*each);
        });
    loop.run();
    for (auto& each : threads) each.join();
    CHECK(ran == 4 * per_thread);
    CHECK(in_order);
}

TEST_CASE("two loops on two threads wake each other, again and again") {
    event_loop mine, theirs;
    int left = 2'000;
    work* reply = nullptr;
    work ping([&] { mine.post(*reply); });
    work pong([&] {
        if (--left != 0) return theirs.post(ping);
        mine.stop();
        theirs.stop();
    });
    reply = &pong;
    std::thread other([&] { theirs.run(); });
    mine.post(pong);
    mine.run();
    other.join();
    CHECK(left == 0);
}

TEST_CASE("a loop that is never without work still serves sockets and timers") {
    event_loop loop;
    asio::readable_pipe source(io_of(loop));
    asio::writable_pipe target(io_of(loop));
    asio::connect_pipe(source, target);
    char received = 0;
    bool read = false, fired = false;
    source.async_read_some(asio::buffer(&received, 1), [&](boost::system::error_code code, std::size_t) {
        CHECK_FALSE(code);
        CHECK(loop.here());
        read = true;
    });
    work alarm([&] { fired = true; });
    loop.start_timer(alarm, loop.now() + 1ms);
    work busy([&] {
        if (read && fired) return loop.stop();
        loop.post(busy);
    });
    loop.post(busy);
    asio::write(target, asio::buffer("x", 1));
    loop.run();
    CHECK(received == 'x');
}

TEST_CASE("a sleeping loop wakes for a socket and for a timer") {
    event_loop loop;
    asio::readable_pipe source(io_of(loop));
    asio::writable_pipe target(io_of(loop));
    asio::connect_pipe(source, target);
    char received = 0;
    work alarm([&] { asio::write(target, asio::buffer("x", 1)); });
    source.async_read_some(asio::buffer(&received, 1), [&](boost::system::error_code, std::size_t) { loop.stop(); });
    const time_point begin = loop.now();
    loop.start_timer(alarm, begin + 5ms);
    loop.run();
    CHECK(received == 'x');
    CHECK(loop.now() >= begin + 5ms);
}

TEST_CASE("a loop that waits for a date seconds away sleeps until then") {
    event_loop loop;
    work end([&] { loop.stop(); });
    const time_point begin = loop.now();
    loop.start_timer(end, begin + 3200ms);
    const long before = sleeps();
    loop.run();
    CHECK(loop.now() >= begin + 3200ms);
    CHECK(sleeps() - before <= 2);  // a page that is read counts, too
}

TEST_CASE("a loop that waits for a date minutes away wakes for what is posted, and for a nearer date") {
    event_loop loop;
    bool never = false;
    work far([&] { never = true; }), near([&] { loop.stop(); });
    const time_point begin = loop.now();
    loop.start_timer(far, begin + 10min);
    work nearer([&] { loop.start_timer(near, begin + 1200ms); });
    std::thread other([&] {
        std::this_thread::sleep_for(20ms);
        loop.post(nearer);
    });
    loop.run();
    other.join();
    CHECK(loop.now() >= begin + 1200ms);
    CHECK_FALSE(never);
    loop.stop_timer(far);
}
