#include "base/past_caches.hpp"

#include <tutti/types.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace tutti;

TEST_CASE("what is copied past the caches is copied, from anywhere to anywhere, and nothing beside it") {
    constexpr std::byte untouched{0xee};
    std::vector<std::byte> source(2048), target;
    for (std::size_t at = 0; at < source.size(); ++at) source[at] = static_cast<std::byte>(at * 7 % 251);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, std::size_t{1000}})
        for (std::size_t to = 0; to < 66; ++to)
            for (const std::size_t from : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{63}}) {
                CAPTURE(bytes);
                CAPTURE(to);
                CAPTURE(from);
                target.assign(source.size(), untouched);
                std::vector<std::byte> expected = target;
                std::copy_n(source.data() + from, bytes, expected.data() + to);
                copy_past_caches(target.data() + to, source.data() + from, bytes);
                REQUIRE(target == expected);
            }
}

TEST_CASE("the last cache is larger than a second one, and smaller than memory") {
    CHECK(last_cache_bytes() >= 1 * MiB);
    CHECK(last_cache_bytes() <= 64 * GiB);
}
