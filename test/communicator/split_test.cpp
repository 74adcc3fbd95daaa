#include "communicator/over_each.hpp"
#include "communicator/rehearsal.hpp"
#include "support/ranks.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace split_test {

using namespace tutti;
using test::programme;
using test::run_ranks;

namespace {

task<> look_at_children(communicator& world) {
    // Colors 0 and 1; keys turn the order around.
    auto splitting = world.split(world.rank() % 2, -world.rank());
    const auto child = co_await std::move(splitting);
    CHECK(child->name() == "world/1." + std::to_string(world.rank() % 2));
    CHECK(child->size() == (world.rank() % 2 == 0 ? 3 : 2));
    CHECK(child->rank() == (4 - world.rank()) / 2);
    std::vector<int> members(static_cast<std::size_t>(child->size()));
    const int mine[] = {world.rank()};
    co_await child->all_gather(mine, members);
    for (std::size_t index = 1; index < members.size(); ++index) CHECK(members[index] == members[index - 1] - 2);
    co_await child->close();
}

task<> keep_ranks_of_equal_keys(communicator& world) {
    auto splitting = world.split(7, 1);
    const auto child = co_await std::move(splitting);
    CHECK(child->rank() == world.rank());
    CHECK(child->name() == "world/1.7");
    auto again = world.split(7, 1);
    CHECK((co_await std::move(again))->name() == "world/2.7");
    co_await child->close();
}

task<> work_beside_children(communicator& world, const programme& four, const programme& two) {
    auto first_split = world.split(world.rank() / 2, 0);
    auto second_split = world.split(world.rank() % 2, 0);
    const auto near = co_await std::move(first_split);
    const auto far = co_await std::move(second_split);
    // Each communicator has an order of its own; between communicators every rank has another.
    switch (world.rank()) {
        case 0: co_await when_all(test::rehearse_at_once(world, four), test::rehearse_at_once(*near, two), test::rehearse_at_once(*far, two)); break;
        case 1: co_await when_all(test::rehearse_at_once(*far, two), test::rehearse_at_once(world, four), test::rehearse_at_once(*near, two)); break;
        case 2: co_await when_all(test::rehearse_at_once(*near, two), test::rehearse_at_once(*far, two), test::rehearse_at_once(world, four)); break;
        default: co_await when_all(test::rehearse(*far, two), test::rehearse(*near, two), test::rehearse(world, four)); break;
    }
    co_await near->close();
    co_await far->close();
}

/// All but rank 1 leave the child as soon as they have their parts, before that one has looked for its own.
task<> leave_when_done(communicator& world, std::atomic<int>& left) {
    const std::size_t count = 20'000;
    auto splitting = world.split(0, world.rank());
    auto child = co_await std::move(splitting);
    const std::vector<float> mine(4 * count, 1);
    std::vector<float> sums(count);
    auto summing = child->reduce_scatter(mine, sums, sum);
    for (int waited = 0; world.rank() == 1 && left < 3 && waited < 1000; ++waited)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    co_await std::move(summing);
    CHECK(sums == std::vector<float>(count, 4));
    child.reset();
    ++left;
    co_await world.barrier();
}

task<> split_a_child(communicator& world) {
    auto first = world.split(world.rank() < 4 ? 0 : 1, 0);
    const auto half = co_await std::move(first);
    auto second = half->split(half->rank() % 2, 0);
    const auto quarter = co_await std::move(second);
    CHECK(quarter->name() == half->name() + "/1." + std::to_string(half->rank() % 2));
    CHECK(quarter->size() == 2);
    std::vector<std::int64_t> data{world.rank()};
    co_await quarter->all_reduce(data, sum);
    CHECK(data[0] == 2 * (world.rank() / 4 * 4 + world.rank() % 2) + 2);
    co_await quarter->close();
    co_await half->close();
}

task<> outlive_the_parent(communicator& world, std::vector<std::unique_ptr<communicator>>& children) {
    auto splitting = world.split(0, 0);
    children[static_cast<std::size_t>(world.rank())] = co_await std::move(splitting);
    co_await world.close();
    auto& child = *children[static_cast<std::size_t>(world.rank())];
    std::vector<int> data{1};
    co_await child.all_reduce(data, sum);
    CHECK(data[0] == world.size());
    co_await child.close();
    children[static_cast<std::size_t>(world.rank())].reset();
}

task<> fail_a_child(communicator& world) {
    auto splitting = world.split(0, 0);
    const auto child = co_await std::move(splitting);
    if (child->rank() == 1) child->abort("no more");
    std::error_code code;
    std::vector<float> data(10);
    auto summing = child->all_reduce(data, sum);
    auto ended = co_await as_result(std::move(summing));
    if (!ended) code = ended.failure().code();
    CHECK(code == error::aborted);
    co_await world.barrier();  // the parent is not concerned
}

task<> leave_ranks_out(communicator& world) {
    const bool out = world.rank() == 0 || world.rank() == 3;
    auto splitting = world.split(out ? std::optional<int>() : std::optional(0), 0);
    const auto child = co_await std::move(splitting);
    CHECK((child == nullptr) == out);
    if (child) {
        CHECK(child->size() == 3);
        std::vector<int> data{world.rank()};
        co_await child->all_reduce(data, sum);
        CHECK(data[0] == 1 + 2 + 4);
        co_await child->close();
    }
    auto nobody = world.split(no_color, 0);
    CHECK(co_await std::move(nobody) == nullptr);
    co_await world.barrier();
}

task<> take_it_for_another_call(communicator& world, std::vector<std::error_code>& codes) {
    std::error_code& code = codes[static_cast<std::size_t>(world.rank())];
    if (world.rank() == 1) {
        const int mine[] = {1, 2, 3};
        std::vector<int> all(3 * static_cast<std::size_t>(world.size()));
        auto gathering = world.all_gather(mine, all);
        auto ended = co_await as_result(std::move(gathering));
        if (!ended) code = ended.failure().code();
    } else {
        auto splitting = world.split(0, 0);
        try {
            co_await std::move(splitting);
        } catch (const failure& wrong) {
            code = wrong.code();
        }
    }
}

}  // namespace

TEST_CASE("ranks without a color take part in the split, and are in no child") { run_ranks(5, leave_ranks_out); }

TEST_CASE("a split and an all_gather of as many numbers are a mismatch") {
    std::vector<std::error_code> codes(3);
    run_ranks(3, [&](communicator& world) { return take_it_for_another_call(world, codes); });
    for (const auto& code : codes) CHECK(code == error::mismatch);
}

TEST_CASE("a child has the ranks of one color, ordered by key and then by rank") {
    run_ranks(5, look_at_children);
    run_ranks(3, keep_ranks_of_equal_keys);
}

TEST_CASE("children and parent work at the same time, in another order on every rank") {
    const programme four = test::mixed(4, {0, 3, 500}, 1), two = test::mixed(2, {0, 3, 500}, 2);
    context_options options;
    options.slice_bytes = 200;
    options.small_bytes = 300;
    run_ranks(4, [&](communicator& world) { return work_beside_children(world, four, two); }, options);
}

TEST_CASE("a child can be split again") { run_ranks(8, split_a_child); }

TEST_CASE("ranks that leave a child when they are done have left their parts to those that are not") {
    for (const auto& each : test::transports) {
        CAPTURE(each.name);
        for (int turn = 0; turn < 3; ++turn) {
            std::atomic<int> left = 0;
            test::run_over(each, 4, [&left](communicator& world) { return leave_when_done(world, left); });
        }
    }
}

TEST_CASE("a child outlives its parent") {
    std::vector<std::unique_ptr<communicator>> children(3);
    run_ranks(3, [&](communicator& world) { return outlive_the_parent(world, children); });
}

TEST_CASE("a child's failure is its own") { run_ranks(3, fail_a_child); }

}  // namespace split_test
