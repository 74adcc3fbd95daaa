#include "engine/table.hpp"
#include "support/allocations.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <vector>

using namespace tutti;
using test::asking;
using test::table;
using test::why;

namespace {

/// Issues what `call(rank)` makes on all ranks, sees it end well, and says how many slices it had.
template <class Call>
std::size_t slices_of(table& all, Call&& call) {
    std::size_t slices = 0;
    std::vector<future<>> ends;
    for (rank me = 0; me < all.size(); ++me) {
        operation& made = all[me].engine().issue(call(me), duration::max());
        if (me > 0) CHECK(made.slices() == slices);
        slices = made.slices();
        ends.push_back(future<>(made));
    }
    all.settle();
    for (auto& each : ends) CHECK(!why(each).code);
    return slices;
}

}  // namespace

TEST_CASE("one long block among short ones is cut into as many slices as if it were alone") {
    constexpr int ranks = 8;
    constexpr std::size_t longest = 1024 * 1024;
    for (const rank owner : {0, 3, ranks - 1}) {
        CAPTURE(owner);
        engine_settings settings;
        settings.forced = {find(collective::reduce_scatter_v, "halving")};
        REQUIRE(settings.forced[0]);
        table all(ranks, settings);
        std::array<std::size_t, ranks> counts{};
        counts.fill(1);
        counts[static_cast<std::size_t>(owner)] = longest;
        const std::size_t whole = std::accumulate(counts.begin(), counts.end(), std::size_t{});
        std::vector<std::vector<float>> inputs(ranks), outputs(ranks);
        const std::size_t slices = slices_of(all, [&](rank me) {
            const auto place = static_cast<std::size_t>(me);
            inputs[place].assign(whole, 1);
            outputs[place].resize(counts[place]);
            request what = asking(collective::reduce_scatter_v, outputs[place]);
            what.input = inputs[place].data();
            what.count = whole;
            what.counts = counts;
            return what;
        });
        CHECK(slices == whole * sizeof(float) / settings.slice_bytes + 1);
        for (const auto& each : outputs) CHECK(each == std::vector<float>(each.size(), ranks));
    }
}

TEST_CASE("there are no more slices than elements") {
    struct huge {
        std::array<char, 3 * MiB> bytes;
    };
    engine_settings settings;
    settings.forced = {find(collective::broadcast, "tree")};
    table all(3, settings);
    std::vector<std::vector<huge>> data(3);
    for (std::size_t me = 0; me < 3; ++me) data[me].resize(2);
    std::fill(data[1][1].bytes.begin(), data[1][1].bytes.end(), 'x');
    CHECK(slices_of(all, [&](rank me) { return asking(collective::broadcast, data[static_cast<std::size_t>(me)], sum, 1); }) == 2);
    for (const auto& each : data) CHECK(each[1].bytes == data[1][1].bytes);
}

TEST_CASE("long memory of one's own is not kept for each root, nor for each length") {
    constexpr int ranks = 8;
    table all(ranks, {});
    std::vector<std::vector<float>> inputs(ranks);
    std::vector<float> output;
    std::size_t made = 0;
    for (const std::size_t count : {512 * KiB, 700 * KiB, 600 * KiB, 700 * KiB}) {
        for (auto& each : inputs) each.assign(count, 1);
        for (rank root = 0; root < ranks; ++root) {
            output.assign(count, 0);
            const std::size_t before = test::long_allocations();
            slices_of(all, [&](rank me) {
                request what = asking(collective::reduce, output, sum, root);
                what.input = inputs[static_cast<std::size_t>(me)].data();
                if (me != root) what.output = nullptr;
                return what;
            });
            made += test::long_allocations() - before;
            CHECK(output == std::vector<float>(count, ranks));
        }
    }
    CHECK(made <= 2 * ranks);  // two lengths were longer than all before
}
