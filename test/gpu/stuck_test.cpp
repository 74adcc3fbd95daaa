#include "gpu/stuck.hpp"

#include "gpu/bell.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("a bell lives until its last ring, also when nobody listens any more") {
    event_loop loop(event_loop::virtual_time);
    listener here;
    auto bell = std::make_shared<gpu::bell>(loop, here.on_ring);
    const std::weak_ptr<gpu::bell> watched = bell;
    gpu::bell* const rope = bell.get();
    for (int times = 0; times < 4; ++times) bell->expect();
    bell->expect_less();
    rope->ring();
    loop.run();
    CHECK(here.times == 1);
    bell->leave();
    bell.reset();
    CHECK_FALSE(watched.expired());
    rope->ring();
    CHECK_FALSE(watched.expired());
    rope->ring();
    CHECK(watched.expired());
    loop.run();
    CHECK(here.times == 1);
}
