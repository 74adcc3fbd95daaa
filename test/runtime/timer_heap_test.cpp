#include "runtime/timer_heap.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace tutti;

namespace {

class silent final : public detail::timer {
public:
    void run() noexcept override {}
};

constexpr auto any = static_cast<std::uint64_t>(-1);

}  // namespace

TEST_CASE("timers leave a heap soonest first whatever was removed from its middle") {
    std::mt19937 random(3);
    for (const std::size_t count : {1u, 2u, 3u, 7u, 64u, 300u}) {
        CAPTURE(count);
        std::vector<silent> timers(count);
        std::vector<std::pair<time_point, const detail::timer*>> expected;
        detail::timer_heap heap;
        for (silent& each : timers) heap.push(each, time_point(duration(random() % 20)));
        for (silent& each : timers) {
            if (random() % 2 == 0) heap.remove(each);
            if (each.started()) expected.emplace_back(each.when(), &each);
        }
        std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [when, work] : expected) {
            CHECK(heap.next() == when);
            CHECK(heap.pop(when, any) == work);
        }
        CHECK(heap.empty());
        CHECK(heap.next() == no_deadline);
    }
}

TEST_CASE("a heap keeps what is not due and what was started too late") {
    detail::timer_heap heap;
    silent first, second;
    heap.push(first, time_point(duration(5)));
    CHECK(heap.pop(time_point(duration(4)), any) == nullptr);
    const std::uint64_t before = heap.started();
    heap.push(second, time_point(duration(1)));
    CHECK(heap.pop(time_point(duration(9)), before) == nullptr);
    CHECK(heap.pop(time_point(duration(9)), any) == &second);
    CHECK(heap.pop(time_point(duration(9)), before) == &first);
}

TEST_CASE("a heap that dies lets its timers go") {
    silent work;
    {
        detail::timer_heap heap;
        heap.push(work, time_point());
        CHECK(work.started());
    }
    CHECK_FALSE(work.started());
}
