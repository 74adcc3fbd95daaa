#include "support/ranks.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace tutti;
using test::run_ranks;

namespace {

task<> sum_everything(communicator& world) {
    std::vector<float> data(1000);
    std::iota(data.begin(), data.end(), static_cast<float>(world.rank()));
    co_await world.all_reduce(data, sum);
    const int ranks = world.size();
    for (std::size_t index = 0; index < data.size(); ++index)
        REQUIRE(data[index] == static_cast<float>(ranks) * static_cast<float>(index) + static_cast<float>(ranks * (ranks - 1) / 2));
}

}  // namespace

TEST_CASE("an all-reduce sums over all ranks") {
    for (int size : {1, 2, 3, 4, 5, 8}) {
        CAPTURE(size);
        run_ranks(size, sum_everything);
    }
}
