#include "base/core_set.hpp"

#include <doctest/doctest.h>

#include <vector>

using tutti::core_set;

TEST_CASE("a set of cores is written as digits of four cores each, and read again") {
    struct row {
        std::vector<int> cores;
        const char* text;
    };
    const row rows[] = {
        {{}, "0"}, {{0}, "1"}, {{0, 1}, "3"}, {{0, 1, 2, 3}, "f"}, {{7}, "08"}, {{1, 4, 6, 9}, "252"}, {{63}, "0000000000000008"}};
    for (const auto& [cores, text] : rows) {
        CAPTURE(text);
        core_set made;
        for (const int core : cores) made.add(core);
        CHECK(made.to_string() == text);
        CHECK(core_set::in(text) == made);
        CHECK(made.count() == static_cast<int>(cores.size()));
        for (std::size_t place = 0; place < cores.size(); ++place) CHECK(made.at(static_cast<int>(place)) == cores[place]);
        CHECK(made.at(static_cast<int>(cores.size())) == -1);
    }
    core_set last;
    last.add(CPU_SETSIZE - 1);
    CHECK(core_set::in(last.to_string()) == last);
}

TEST_CASE("what is no set of cores is none") {
    for (const std::string& text : {std::string("x"), std::string("3 "), std::string("-1"), std::string(CPU_SETSIZE / 4 + 1, 'f')})
        CHECK(core_set::in(text).count() == 0);
}

TEST_CASE("sets add up, and common cores count once") {
    core_set both = core_set::in("3");
    both.add(core_set::in("6"));
    CHECK(both == core_set::in("7"));
}

TEST_CASE("a thread may run on the cores that it is bound to") {
    const core_set before = core_set::of_this_thread();
    REQUIRE(before.count() >= 1);
    core_set one;
    one.add(before.at(before.count() - 1));
    REQUIRE(one.bind_this_thread());
    CHECK(core_set::of_this_thread() == one);
    CHECK(before.bind_this_thread());
}
