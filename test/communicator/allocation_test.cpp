#include "support/allocations.hpp"
#include "support/rank_threads.hpp"

#include <tutti/persistent.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace allocation_test {

using namespace tutti;
using test::run_ranks;

namespace {

struct data_of_rank {
    std::vector<float> small = std::vector<float>(100), large = std::vector<float>(100'000), parts = std::vector<float>(400),
                       part = std::vector<float>(100), other = std::vector<float>(400);
    std::vector<float> kept = std::vector<float>(100'000);
    std::vector<float> inbox = std::vector<float>(100), own_inbox = std::vector<float>(100), long_inbox = std::vector<float>(100'000);
    std::vector<std::size_t> counts = std::vector<std::size_t>(4, 100);
};

const custom_op<float> least("least", commutes::no, [](float a, float b) { return a < b ? a : b; });

task<> parts_step(communicator& world, data_of_rank& data) {
    co_await world.gather(data.part, data.parts, 1);
    co_await world.scatter(data.parts, data.part, 2);
    co_await world.scan(data.small, max);
    co_await world.exclusive_scan(data.small, max);
    co_await world.all_gather_v(data.part, data.parts, data.counts);
    co_await world.reduce_scatter_v(data.parts, data.part, data.counts, min);
    co_await world.gather_v(data.part, data.parts, data.counts, 3);
    co_await world.scatter_v(data.parts, data.part, data.counts, 0);
    co_await world.all_to_all_v(data.parts, data.other, data.counts, data.counts);
}

/// One of each, some at the same time; coroutine frames come from a pool and are not of the heap.
task<> one_step(communicator& world, data_of_rank& data) {
    // Called before the barrier, so that they are there when the messages come.
    const int next = (world.rank() + 1) % 4, previous = (world.rank() + 3) % 4;
    auto received = world.recv(data.inbox, next);
    auto expected = world.exchange(recv_from(data.long_inbox, any_source, 1), recv_from(data.own_inbox, world.rank(), 2));
    co_await world.barrier();
    co_await world.all_reduce(data.small, sum);
    auto large = world.all_reduce(data.large, avg);
    auto gathered = world.all_gather(data.part, data.parts);
    co_await std::move(gathered);
    co_await std::move(large);
    auto scattered = world.reduce_scatter(data.parts, data.part, max);
    auto spread = world.broadcast(data.small, 2);
    co_await std::move(scattered);
    co_await std::move(spread);
    co_await world.reduce(data.small, prod, 1);
    co_await parts_step(world, data);
    auto smallest = world.all_reduce(data.large, least);
    auto scaled = world.reduce_scatter(data.parts, data.part, premul_sum(0.5));
    co_await std::move(smallest);
    co_await std::move(scaled);
    auto sent = world.send(data.small, previous);
    auto exchanged = world.exchange(send_to(data.large, next, 1), send_to(data.small, world.rank(), 2));
    co_await std::move(received);
    co_await std::move(sent);
    co_await std::move(exchanged);
    co_await std::move(expected);
}

task<> steps_of(communicator& world, data_of_rank& data, persistent& kept, int steps) {
    for (int step = 0; step < steps; ++step) {
        co_await one_step(world, data);
        auto listed = world.all_reduce(buffers(data.large, data.small, data.other), max);
        auto started = kept.start();
        co_await std::move(listed);
        co_await std::move(started);
    }
}

task<> count_steps(communicator& world, std::vector<std::size_t>& counted) {
    data_of_rank data;
    persistent kept([&](call_options how) { return world.all_reduce(data.kept, min, how); });
    co_await steps_of(world, data, kept, 50);
    co_await world.barrier();
    const std::size_t before = test::allocations();
    co_await steps_of(world, data, kept, 200);
    counted[static_cast<std::size_t>(world.rank())] = test::allocations() - before;
    co_await world.barrier();  // no rank closes while another counts
}

}  // namespace

TEST_CASE("after warm-up no collective, list, repeated call or message allocates, on any rank" * doctest::skip(!test::counts_allocations)) {
    std::vector<std::size_t> counted(4, 1);
    run_ranks(4, [&counted](communicator& world) { return count_steps(world, counted); });
    // All ranks count the same program's allocations, so each would see every one.
    CHECK(*std::max_element(counted.begin(), counted.end()) == 0);
}

TEST_CASE("over sockets and shared memory operations allocate nothing either, but for what grows when more than ever is under way" *
          doctest::skip(!test::counts_allocations)) {
    for (const transport_kind kind : {transport_kind::tcp, transport_kind::shm}) {
        CAPTURE(static_cast<int>(kind));
        const auto options = [kind](rank) {
            context_options each;
            each.transport = kind;
            return each;
        };
        std::size_t fewest = 1000;
        for (int turn = 0; turn < 3 && fewest >= 100; ++turn) {
            std::vector<std::size_t> counted(4, 1);
            test::run_ranks_on_threads(
                4, [&counted](communicator& world) { return count_steps(world, counted); }, options);
            fewest = std::min(fewest, *std::max_element(counted.begin(), counted.end()));
        }
        MESSAGE(fewest, " allocations in 200 steps of 27 operations on each of 4 ranks");
        CHECK(fewest < 100);
    }
}

}  // namespace allocation_test
