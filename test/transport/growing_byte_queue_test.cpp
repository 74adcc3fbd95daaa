#include "transport/growing_byte_queue.hpp"

#include "pump.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace tutti::test {

TEST_CASE("a growing queue gives bytes back in the order of their coming, whatever is put and dropped in between") {
    const bytes all = random_bytes(200'000, 7);
    std::mt19937_64 random{7};
    growing_byte_queue queue;
    std::size_t put = 0, dropped = 0;
    while (dropped < all.size()) {
        const std::size_t more = std::min<std::size_t>(random() % 700, all.size() - put);
        queue.put(std::span(all).subspan(put, more));
        put += more;
        REQUIRE(queue.size() == put - dropped);
        REQUIRE(queue.empty() == (put == dropped));
        REQUIRE(std::ranges::equal(queue.bytes(), std::span(all).subspan(dropped, put - dropped)));
        const std::size_t less = std::min<std::size_t>(random() % 900, queue.size());
        queue.drop(less);
        dropped += less;
    }
    CHECK(queue.empty());
    CHECK(queue.bytes().empty());
}

}  // namespace tutti::test
