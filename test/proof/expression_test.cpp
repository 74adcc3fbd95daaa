#include "proof/expression.hpp"

#include <doctest/doctest.h>

using namespace tutti;

TEST_CASE("equal formulas have equal numbers, other orders have others") {
    expressions all;
    const auto a = all.of({0, 0}), b = all.of({1, 0}), c = all.of({2, 3});
    CHECK(all.of({0, 0}) == a);
    CHECK(all.combined(all.combined(a, b), c) == all.combined(all.combined(a, b), c));
    CHECK(all.combined(all.combined(a, b), c) != all.combined(a, all.combined(b, c)));
    CHECK(all.combined(a, b) != all.combined(b, a));
    CHECK(all.of({3, 0}) != all.of({0, 3}));
}

TEST_CASE("a formula knows its contributions and prints them from left to right") {
    expressions all;
    const auto added = all.combined(all.combined(all.of({1, 0}), all.of({0, 0})), all.of({2, 3}));
    CHECK(all.text(added) == "((1+0)+2.3)");
    CHECK(all.pieces(added) == std::vector<piece>{{1, 0}, {0, 0}, {2, 3}});
    CHECK(all.text(expressions::nothing) == "nothing");
    CHECK(all.pieces(expressions::nothing).empty());
    CHECK(all.combined(added, expressions::nothing) == expressions::nothing);
}
