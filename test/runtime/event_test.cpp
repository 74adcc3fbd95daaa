#include <tutti/error.hpp>
#include <tutti/event.hpp>
#include <tutti/when_all.hpp>

#include <doctest/doctest.h>

#include <thread>
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

namespace {

task<> take(std::vector<int>& queue, condition& changed, std::vector<int>& taken, int mine) {
    while (queue.empty()) co_await changed.wait();
    queue.pop_back();
    taken.push_back(mine);
}
task<> put(std::vector<int>& queue, condition& changed, bool all) {
    co_await yield();
    queue.push_back(1);
    changed.notify_one();
    co_await sleep_for(1s);
    queue.push_back(2);
    if (all) changed.notify_all();
    else changed.notify_one();
}
task<> wait_for_change(condition& changed) { co_await changed.wait(); }
task<error> wait_until_cancelled(condition& changed) {
    try {
        co_await with_deadline(changed.wait(), 1s);
    } catch (const failure& why) {
        co_return static_cast<error>(why.code().value());
    }
    co_return error{};
}
task<> notify_after(duration length, condition& changed) {
    co_await sleep_for(length);
    changed.notify_one();
}

}  // namespace

TEST_CASE("a condition lets one task go on, or all that wait, in the order in which they came") {
    for (const bool all : {false, true}) {
        event_loop loop(event_loop::virtual_time);
        condition changed;
        std::vector<int> queue, taken;
        if (all)
            CHECK_THROWS_AS(run(loop, when_all(take(queue, changed, taken, 1), take(queue, changed, taken, 2),
                                               take(queue, changed, taken, 3), put(queue, changed, all))),
                            failure);
        else run(loop, when_all(take(queue, changed, taken, 1), take(queue, changed, taken, 2), put(queue, changed, all)));
        CHECK(taken == std::vector{1, 2});
    }
}

TEST_CASE("a condition remembers nothing") {
    event_loop loop(event_loop::virtual_time);
    condition changed;
    changed.notify_all();
    CHECK_THROWS_WITH(run(loop, wait_for_change(changed)), doctest::Contains("a condition"));
}

TEST_CASE("a task that is cancelled while it waits for a condition takes no notification from the others") {
    event_loop loop(event_loop::virtual_time);
    condition changed;
    const auto [first, second, third] =
        run(loop, when_all(wait_until_cancelled(changed), wait_for_change(changed), notify_after(2s, changed)));
    CHECK(first == error::timed_out);
    (void)second, (void)third;
    const auto [in_time, done] = run(loop, when_all(wait_until_cancelled(changed), notify_after(500ms, changed)));
    CHECK(in_time == error{});
    (void)done;
}

TEST_CASE("another thread sets an event by a post to its loop") {
    event_loop loop;
    event done;
    std::vector<int> order;
    class setter final : public detail::runnable {
    public:
        explicit setter(event& what) noexcept : what_(what) {}

    private:
        void run() noexcept override { what_.set(); }
        event& what_;
    } set(done);
    std::thread other([&] { loop.post(set); });
    run(loop, wait_and_note(done, order, 1));
    other.join();
    CHECK(order == std::vector{1});
}
