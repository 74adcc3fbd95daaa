#include "base/layout.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace tutti;

TEST_CASE("parts cover every element exactly once, in order, and differ by at most one") {
    for (const std::size_t count : {0u, 1u, 2u, 5u, 7u, 64u, 1009u})
        for (const std::size_t parts : {1u, 2u, 3u, 4u, 7u, 8u, 33u}) {
            std::size_t next = 0;
            for (std::size_t index = 0; index < parts; ++index) {
                const part one = part_of(count, parts, index);
                CHECK(one.first == next);
                CHECK(one.count >= count / parts);
                CHECK(one.count <= count / parts + 1);
                next += one.count;
            }
            CHECK(next == count);
        }
}

TEST_CASE("slices of blocks tile the blocks, beyond 2^32 elements too") {
    const std::size_t huge = (std::size_t{5} << 32) + 3;
    layout whole{nullptr, huge, 4, 3};
    std::size_t next = 0;
    for (int block = 0; block < 3; ++block)
        for (std::size_t slice = 0; slice < 5; ++slice) {
            const part one = whole.slice(block, 5, slice);
            CHECK(one.first == next);
            next += one.count;
        }
    CHECK(next == huge);
}

TEST_CASE("blocks of given sizes are cut where they begin, and their slices tile them, empty ones too") {
    const std::size_t starts[] = {0, 5, 5, 1014, 1015};
    const layout whole{nullptr, 1015, 4, 4, starts};
    CHECK(whole.longest() == 1009);
    CHECK(whole.block(1) == part{5, 0});
    CHECK(whole.block(2) == part{5, 1009});
    std::size_t next = 0;
    for (int block = 0; block < 4; ++block)
        for (std::size_t slice = 0; slice < 7; ++slice) {
            const part one = whole.slice(block, 7, slice);
            CHECK(one.first == next);
            next += one.count;
        }
    CHECK(next == 1015);
}

TEST_CASE("the longest of near-equal blocks is the first, and no blocks have none") {
    CHECK(layout{nullptr, 10, 4, 3}.longest() == 4);
    CHECK(layout{nullptr, 10, 4, 0}.longest() == 0);
}
