#include "training_step.hpp"

#include "support/ranks.hpp"

#include <doctest/doctest.h>

using namespace perf;

namespace {

const std::vector<std::uint64_t> tensors{1, 1000, 7, 64, 3};

tutti::task<> step_twice(tutti::communicator& world, way how, std::size_t calls) {
    std::vector<float> data(1075, static_cast<float>(world.rank() + 1));
    training_step step(world, std::span(data), tensors, how, tutti::sum);
    CHECK(step.calls().size() == calls);
    for (int turn = 0; turn < 2; ++turn) {
        auto work = step();
        co_await std::move(work);
    }
    CHECK(data == std::vector<float>(1075, 18));
}

}  // namespace

TEST_CASE("each way sums every tensor once, in place") {
    const std::vector<std::size_t> calls{5, 5, 1, 1};
    for (const way how : ways) {
        CAPTURE(name(how));
        const tutti::test::rank_body body = [&](tutti::communicator& world) {
            return step_twice(world, how, calls[static_cast<std::size_t>(how)]);
        };
        tutti::test::run_ranks(3, body);
    }
}
