#include "digits/shard.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace digits;

TEST_CASE("every epoch visits every image once, in an order of its own") {
    auto first = visiting_order(101, 1, 1);
    CHECK(first == visiting_order(101, 1, 1));
    CHECK(first != visiting_order(101, 1, 2));
    CHECK(first != visiting_order(101, 2, 1));
    std::sort(first.begin(), first.end());
    for (std::size_t i = 0; i < first.size(); ++i) CHECK(first[i] == i);
}

TEST_CASE("global batches follow each other without gap, and the last may be shorter") {
    for (const std::size_t count : {1UL, 63UL, 64UL, 65UL, 1438UL})
        for (const std::size_t batch : {1UL, 7UL, 64UL, 2000UL}) {
            CAPTURE(count);
            CAPTURE(batch);
            const auto order = visiting_order(count, 1, 1);
            std::vector<std::size_t> together;
            for (std::size_t index = 0;; ++index) {
                const auto one = global_batch(order, batch, index);
                if (one.empty()) break;
                CHECK((one.size() == batch || together.size() + one.size() == count));
                together.insert(together.end(), one.begin(), one.end());
            }
            CHECK(together == order);
        }
}

TEST_CASE("the parts of a batch are contiguous, balanced and complete for any number of ranks") {
    for (const std::size_t count : {0UL, 1UL, 2UL, 5UL, 30UL, 64UL})
        for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 9, 16, 33}) {
            CAPTURE(count);
            CAPTURE(ranks);
            std::vector<std::size_t> whole(count);
            std::iota(whole.begin(), whole.end(), std::size_t{0});
            std::vector<std::size_t> together;
            std::size_t shortest = count;
            std::size_t longest = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const auto mine = part(whole, rank, ranks);
                shortest = std::min(shortest, mine.size());
                longest = std::max(longest, mine.size());
                together.insert(together.end(), mine.begin(), mine.end());
            }
            CHECK(together == whole);
            CHECK(longest - shortest <= 1);
        }
}
