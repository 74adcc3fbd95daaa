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

TEST_CASE("parts are multiples of the grain where the last ones can take what is left over, a quarter of it each at most") {
    struct row {
        const char* name;
        std::size_t count, parts, grain;
        std::vector<std::size_t> expected;
    };
    for (const row& each :
         {row{"exactly", 400, 4, 100, {100, 100, 100, 100}}, row{"one is longer", 412, 4, 100, {100, 100, 100, 112}},
          row{"by a quarter", 425, 4, 100, {100, 100, 100, 125}}, row{"two are longer", 426, 4, 100, {100, 100, 113, 113}},
          row{"all but one", 475, 4, 100, {100, 125, 125, 125}}, row{"too much is left over", 476, 4, 100, {119, 119, 119, 119}},
          row{"less than a grain", 399, 4, 100, {100, 100, 100, 99}}, row{"several grains", 823, 4, 100, {200, 200, 200, 223}},
          row{"no grain", 426, 4, 0, {107, 107, 106, 106}}, row{"too fine a grain", 15, 4, 3, {4, 4, 4, 3}},
          row{"one part", 412, 1, 100, {412}}, row{"nothing", 0, 2, 100, {0, 0}}}) {
        CAPTURE(each.name);
        std::size_t next = 0;
        for (std::size_t index = 0; index < each.parts; ++index) {
            const part one = part_of(each.count, each.parts, index, each.grain);
            CHECK(one.first == next);
            CHECK(one.count == each.expected[index]);
            next += one.count;
        }
        CHECK(next == each.count);
    }
}

TEST_CASE("a grain cuts blocks that are near-equal, and slices of any, and makes no more slices") {
    layout whole{nullptr, 823, 4, 4};
    whole.grain = 100;
    CHECK(whole.block(3) == part{600, 223});
    CHECK(whole.longest() == 223);
    CHECK(whole.longest_without_grain() == 206);
    CHECK(whole.slice(3, 2, 0) == part{600, 100});
    CHECK(whole.slice(3, 2, 1) == part{700, 123});
    whole.equal = true;
    whole.count = 824;
    CHECK(whole.block(3) == part{618, 206});
    CHECK(whole.slice(3, 2, 0) == part{618, 100});
    CHECK(whole.longest_without_grain() == whole.longest());
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

TEST_CASE("slices that are counted from the end are the same ones the other way around") {
    layout forth{nullptr, 823, 4, 4};
    forth.grain = 100;
    layout back = forth;
    back.backward = true;
    for (int block = 0; block < 4; ++block)
        for (const std::size_t slices : {1u, 2u, 3u, 7u})
            for (std::size_t slice = 0; slice < slices; ++slice)
                CHECK(back.slice(block, slices, slice) == forth.slice(block, slices, slices - 1 - slice));
    CHECK(back.block(3) == forth.block(3));
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

TEST_CASE("the longest of near-equal blocks is the first, or any where they fill packets, and no blocks have none") {
    CHECK(layout{nullptr, 10, 4, 3}.longest() == 4);
    CHECK(layout{nullptr, 10, 4, 0}.longest() == 0);
    layout packets{nullptr, 33, 4, 3};
    packets.grain = 10;  // 10, 12, 11
    CHECK(packets.longest() == 12);
    CHECK(packets.longest_without_grain() == 11);
    packets.equal = true;
    CHECK(packets.longest() == 11);
}
