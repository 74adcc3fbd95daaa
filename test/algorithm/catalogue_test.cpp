// Every plan there is, for every size, run symbolically.
#include "algorithm/catalogue.hpp"

#include "algorithm/expected.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace tutti;

namespace {

template <class Check>
void for_every_plan(int largest, Check check) {
    for (const algorithm& entry : catalogue())
        for (int size = 1; size <= largest; ++size)
            for (const rank root : roots(entry.kind, size)) {
                if (!serves(entry, size)) continue;
                const verdict found = check(entry, size, root);
                INFO(name(entry.kind), " ", entry.name, ", ", size, " ranks, root ", root, ": ", name(found.what), ": ", found.why);
                CHECK(found.correct());
            }
}

}  // namespace

TEST_CASE("every entry can be found by its name, and its number is its place") {
    std::set<std::string> seen;
    for (const algorithm& entry : catalogue()) {
        CAPTURE(entry.name);
        CHECK(find(entry.kind, entry.name) == &entry);
        CHECK(&catalogue()[static_cast<std::size_t>(number(entry))] == &entry);
        CHECK(seen.insert(std::string(name(entry.kind)) + "/" + std::string(entry.name)).second);
    }
    CHECK(find(collective::barrier, "ring") == nullptr);
    CHECK(find(collective::all_reduce, "") == nullptr);
    CHECK(catalogue().size() < 256);  // the number travels in one byte
}

TEST_CASE("every collective of the catalogue is served at every size") {
    for (int number = 0; number < collective_count; ++number) {
        const auto kind = static_cast<collective>(number);
        CAPTURE(name(kind));
        for (int size = 1; size <= 33; ++size) {
            bool served = false;
            for (const algorithm& entry : catalogue()) served |= entry.kind == kind && serves(entry, size);
            CHECK(served);
        }
    }
}

TEST_CASE("every plan in the catalogue is correct for every size and root") {
    for_every_plan(33, [](const algorithm& entry, int size, rank root) { return verify(entry, size, root); });
}

TEST_CASE("every plan in the catalogue is correct in slices, whatever the order of events, over one lane or several") {
    const slicing cuts[] = {
        {.slices = 2},
        {.slices = 3},
        {.slices = 3, .window = 1},
        {.slices = 2, .window = 1, .segment = 1},
        {.slices = 3, .window = 1, .segment = 2},
        {.slices = 5, .segment = 2},
        {.slices = 4, .lanes = 2},
        {.slices = 4, .lanes = 3},
        {.slices = 4, .window = 1, .lanes = 3},
        {.slices = 5, .segment = 2, .lanes = 3},
    };
    for (const slicing& cut : cuts)
        for (std::uint32_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(cut.slices);
            CAPTURE(cut.window);
            CAPTURE(cut.segment);
            CAPTURE(cut.lanes);
            CAPTURE(seed);
            for_every_plan(10, [&](const algorithm& entry, int size, rank root) { return verify_sliced(entry, size, root, cut, seed); });
        }
}

TEST_CASE("the algorithms marked as ordered combine in the order of ranks at every size and root, the others do not") {
    for (const algorithm& entry : catalogue()) {
        if (!reduces(entry.kind)) {
            CHECK_FALSE(entry.ordered);
            continue;
        }
        bool always = true;
        for (int size = 1; size <= 33; ++size)
            for (const rank root : roots(entry.kind, size)) {
                if (!serves(entry, size)) continue;
                const verdict found = verify_ordered(entry, size, root);
                INFO(name(entry.kind), " ", entry.name, ", ", size, " ranks, root ", root, ": ", name(found.what), ": ", found.why);
                CHECK((found.correct() || (!entry.ordered && found.what == flaw::not_in_order)));
                always &= found.correct();
            }
        CAPTURE(name(entry.kind));
        CAPTURE(entry.name);
        CHECK(always == entry.ordered);
    }
}

TEST_CASE("the algorithms marked as grouped combine in the one order and grouping at every size and root, the others do not") {
    for (const algorithm& entry : catalogue()) {
        CAPTURE(name(entry.kind));
        CAPTURE(entry.name);
        if (!reduces(entry.kind)) {
            CHECK_FALSE(entry.grouped);
            continue;
        }
        bool always = true;
        for (int size = 1; size <= 33; ++size)
            for (const rank root : roots(entry.kind, size)) {
                if (!serves(entry, size)) continue;
                const verdict found = verify_grouped(entry, size, root);
                INFO(size, " ranks, root ", root, ": ", name(found.what), ": ", found.why);
                CHECK((found.correct() || (!entry.grouped && found.what == flaw::other_grouping)));
                CHECK((found.correct() || !deterministic(entry, size)));
                always &= found.correct();
            }
        CHECK(always == entry.grouped);
        CHECK((entry.ordered || !entry.grouped));
    }
}

TEST_CASE("with one rank a plan is empty, or one copy where input becomes output") {
    for (const algorithm& entry : catalogue()) {
        CAPTURE(entry.name);
        const schedule plan = entry.build({0, 1, 0});
        const bool copies = plan.spaces().input > 0;
        CHECK(plan.rounds() == (copies ? 1 : 0));
        if (copies) CHECK(plan.steps().size() == 1);
        if (copies) CHECK(plan.steps()[0] == copy(output(0), input(0)));
    }
}
