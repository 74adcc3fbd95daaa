#include "gpu/stuck.hpp"

#include "gpu/driver_wakeup.hpp"

#include <doctest/doctest.h>

namespace stuck_test {

using namespace tutti;

TEST_CASE("what is kept lives until it is let go, each thing for itself") {
    const auto one = std::make_shared<int>(1);
    auto other = std::make_shared<int>(2);
    const std::weak_ptr<int> watched = other;
    const std::size_t before = gpu::stuck::count();
    gpu::stuck::keep(one);
    gpu::stuck::keep(std::move(other));
    CHECK_FALSE(watched.expired());
    gpu::stuck::let_go(&watched);  // is not there
    CHECK(gpu::stuck::count() == before + 2);
    gpu::stuck::let_go(watched.lock().get());
    CHECK(watched.expired());
    CHECK(one.use_count() == 2);
    gpu::stuck::let_go(one.get());
    CHECK(gpu::stuck::count() == before);
    CHECK(one.use_count() == 1);
}

namespace {

struct listener {
    void heard() noexcept { ++times; }
    int times = 0;
    detail::callback<&listener::heard> on_ring{*this};
};

}  // namespace

TEST_CASE("a wake-up lives until the last one that was expected, also when nobody listens any more") {
    event_loop loop(event_loop::virtual_time);
    listener here;
    auto wakeup = std::make_shared<gpu::driver_wakeup>(loop, here.on_ring);
    const std::weak_ptr<gpu::driver_wakeup> watched = wakeup;
    gpu::driver_wakeup* const driver = wakeup.get();
    for (int times = 0; times < 4; ++times) wakeup->expect();
    wakeup->expect_less();
    driver->wake();
    loop.run();
    CHECK(here.times == 1);
    wakeup->leave();
    wakeup.reset();
    CHECK_FALSE(watched.expired());
    driver->wake();
    CHECK_FALSE(watched.expired());
    driver->wake();
    CHECK(watched.expired());
    loop.run();
    CHECK(here.times == 1);
}

}  // namespace stuck_test
