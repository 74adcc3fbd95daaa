// Every plan there is, for every size, run symbolically.
#include "algorithm/expected.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("every plan in the catalogue is correct for every size and root") {
    for_every_plan(33, [](const algorithm& entry, int size, rank root) { return verify(entry, size, root); });
}

TEST_CASE("every plan in the catalogue is correct in slices, whatever the order of events") {
    for (const int slices : {2, 3})
        for (std::uint32_t seed = 1; seed <= 3; ++seed) {
            CAPTURE(slices);
            CAPTURE(seed);
            for_every_plan(10, [&](const algorithm& entry, int size, rank root) { return verify_sliced(entry, size, root, slices, seed); });
        }
}

TEST_CASE("with one rank a plan is empty, or one copy where input becomes output") {
    for (const algorithm& entry : catalogue()) {
        CAPTURE(entry.name);
        const bool copies = entry.kind == collective::reduce_scatter || entry.kind == collective::all_to_all;
        const schedule plan = entry.build({0, 1, 0});
        CHECK(plan.rounds() == (copies ? 1 : 0));
        if (copies) CHECK(plan.steps().size() == 1);
        if (copies) CHECK(plan.steps()[0] == copy(output(0), input(0)));
    }
}
