#include "proof/grouping.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("all ranks are combined in pairs, after the first few were folded to a power of two") {
    expressions all;
    const char* const rows[] = {"0",
                                "(0+1)",
                                "((0+1)+2)",
                                "((0+1)+(2+3))",
                                "(((0+1)+2)+(3+4))",
                                "(((0+1)+(2+3))+(4+5))",
                                "(((0+1)+(2+3))+((4+5)+6))",
                                "(((0+1)+(2+3))+((4+5)+(6+7)))"};
    for (int size = 1; const char* each : rows) CHECK(all.text(grouped(all, {every_rank, 0}, size++)) == each);
    CHECK(all.text(grouped(all, {every_rank, 3}, 2)) == "(0.3+1.3)");
}

TEST_CASE("the first ranks are combined by distances that double, however many ranks there are in all") {
    expressions all;
    const char* const rows[] = {"0", "(0+1)", "(0+(1+2))", "((0+1)+(2+3))", "(0+((1+2)+(3+4)))"};
    for (int count = 1; const char* each : rows) {
        CHECK(all.text(grouped(all, {first_ranks(count), 0}, 5)) == each);
        CHECK(grouped(all, {first_ranks(count), 0}, 5) == grouped(all, {first_ranks(count), 0}, 33));
        ++count;
    }
}

TEST_CASE("one rank's contribution is itself") {
    expressions all;
    CHECK(grouped(all, {2, 1}, 4) == all.of({2, 1}));
}
