#include "runtime/loop_local.hpp"

#include <doctest/doctest.h>

#include <memory>

using namespace tutti;
using detail::loop_local;

TEST_CASE("a loop keeps something for each who asks, finds it again, and destroys it with itself") {
    const auto first = std::make_shared<int>(1), second = std::make_shared<int>(2);
    std::weak_ptr<void> kept;
    {
        event_loop loop(event_loop::virtual_time);
        CHECK(loop_local(loop, first) == nullptr);
        loop_local(loop, first) = std::make_shared<int>(3);
        kept = loop_local(loop, first);
        CHECK(loop_local(loop, second) == nullptr);
        CHECK(*std::static_pointer_cast<int>(loop_local(loop, first)) == 3);
    }
    CHECK(kept.expired());
}

TEST_CASE("what was kept for somebody who is gone leaves when another one comes, and is nobody else's") {
    event_loop loop(event_loop::virtual_time);
    auto gone = std::make_shared<int>(1);
    loop_local(loop, gone) = std::make_shared<int>(2);
    const std::weak_ptr<void> kept = loop_local(loop, gone);
    gone.reset();
    const auto next = std::make_shared<int>(3);
    CHECK(loop_local(loop, next) == nullptr);
    CHECK(kept.expired());
}
