#include "transport/byte_queue.hpp"

#include "support/seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace tutti::test {

TEST_CASE("a byte queue gives back what was put in, in order, and never holds more than its capacity") {
    const auto seed = test::any_seed();
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    for (const std::size_t capacity : {1u, 2u, 7u, 64u}) {
        byte_queue queue{capacity};
        std::deque<std::byte> expected;
        for (int i = 0; i < 2'000; ++i) {
            std::vector<std::byte> in(random() % (2 * capacity));
            for (auto& one : in) one = static_cast<std::byte>(random());
            const auto cut = random() % (in.size() + 1);
            const std::span<const std::byte> sources[] = {std::span(in).first(cut), std::span(in).subspan(cut)};
            const auto limit = random() % (2 * capacity);
            const auto put = queue.put(sources, limit);
            REQUIRE(put == std::min({in.size(), limit, capacity - expected.size()}));
            expected.insert(expected.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(put));
            REQUIRE(queue.size() == expected.size());

            std::vector<std::byte> out(random() % (2 * capacity));
            const auto where = random() % (out.size() + 1);
            const std::span<std::byte> targets[] = {std::span(out).first(where), std::span(out).subspan(where)};
            const auto taken = queue.take(targets, limit);
            REQUIRE(taken == std::min({out.size(), limit, expected.size()}));
            REQUIRE(std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(taken), expected.begin()));
            expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(taken));
        }
    }
}

}  // namespace tutti::test
