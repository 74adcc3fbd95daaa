#include <tutti/event_loop.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
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
