// What several ranks lend for the same blocks is combined where it lies, when all of it is there: sums are right whoever lends and whoever does
// not, whoever comes last, and when somebody leaves in the middle.
#include "communicator/home.hpp"
#include "support/ranks.hpp"
#include "support/threads.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

using namespace tutti;

namespace {

/// Every rank is a thread with a context of its own, in shared memory, and all all_reduces go by this algorithm.
void run_in_memory(int size, const char* algorithm, const test::rank_body& body) {
    memory_table table;
    test::on_threads(size, [&](rank me) {
        context_options options;
        options.transport = transport_kind::shm;
        context home(options);
        home.inner().force({find(collective::all_reduce, algorithm)});
        event_loop loop;
        run(loop, test::detail::one_rank(home, me, size, memory_store(table), body));
    });
}

/// Elements that rank `of` gives: small enough that sums of floats are exact.
float given(std::size_t index, rank of) { return static_cast<float>(index % 1009) * 0.5F + static_cast<float>(of * 3); }

std::size_t count_wrong(std::span<const float> got, reduction op, int size) {
    std::size_t wrong = 0;
    for (std::size_t index = 0; index < got.size(); ++index) {
        float expected = given(index, 0);
        for (rank each = 1; each < size; ++each)
            expected = op.kind() == reduce_op::max ? std::max(expected, given(index, each)) : expected + given(index, each);
        if (op.kind() == reduce_op::avg) expected /= static_cast<float>(size);
        wrong += got[index] == expected ? 0 : 1;
    }
    return wrong;
}

/// Now and then a rank is late.
void dawdle(std::minstd_rand& random) {
    if (random() % 4 != 0) return;
    for (auto turns = random() % 5; turns > 0; --turns) std::this_thread::yield();
}

/// Bit r of `lenders`: rank r works in the arena, and the others in ordinary memory.
task<> sum_lent(communicator& world, unsigned lenders, std::size_t count, reduction op, std::minstd_rand& random) {
    const bool lends = (lenders >> world.rank() & 1U) != 0;
    auto arena = world.allocate<float>(lends ? count : 0);
    std::vector<float> ordinary(lends ? 0 : count);
    const std::span<float> data = lends ? std::span<float>(arena) : std::span<float>(ordinary);
    for (std::size_t index = 0; index < count; ++index) data[index] = given(index, world.rank());
    dawdle(random);
    co_await world.all_reduce(data, op);
    if (const std::size_t wrong = count_wrong(data, op, world.size()); wrong > 0)
        FAIL_CHECK("of ", count, " elements ", wrong, " are wrong on rank ", world.rank(), ", lenders ", lenders);
}

task<> sum_in_many_ways(communicator& world) {
    std::minstd_rand random(static_cast<unsigned>(world.rank()) + 1);
    for (unsigned lenders = 0; lenders < 1U << world.size(); ++lenders) {
        for (const std::size_t count : {9'000u, 70'001u, 300'007u}) co_await sum_lent(world, lenders, count, sum, random);
        co_await sum_lent(world, lenders, 20'011, max, random);
        co_await sum_lent(world, lenders, 20'011, avg, random);
    }
    co_await sum_lent(world, ~0U, 1'000'037, sum, random);
    co_await sum_lent(world, ~1U, 1'000'037, sum, random);
}

void wait_until(const std::atomic<int>& number, int is) {
    while (number < is) std::this_thread::yield();
}

/// Rank 0 gives up while the others wait for the last, who comes when they have all heard of it. From then on nobody writes to their memory.
task<> leave_in_the_middle(communicator& world, std::atomic<int>& called, std::atomic<int>& told) {
    const bool last = world.rank() == world.size() - 1;
    auto data = world.allocate<float>(400'000);
    co_await world.all_reduce(data, sum);
    if (last) wait_until(told, world.size() - 1);
    auto summing = world.all_reduce(data, sum);
    ++called;
    if (world.rank() == 0) {
        wait_until(called, world.size() - 1);
        for (int turns = 0; turns < 1000; ++turns) std::this_thread::yield();  // so that most have lent what they give
        summing.cancel();
    }
    CHECK_THROWS_AS(co_await std::move(summing), failure);
    std::fill(data.begin(), data.end(), 7.0F);
    ++told;
    wait_until(told, world.size());
    CHECK(std::all_of(data.begin(), data.end(), [](float each) { return each == 7.0F; }));
}

}  // namespace

TEST_CASE("sums of what some lend and others do not are right, whoever comes last") {
    for (const char* algorithm : {"direct", "star"})
        for (const int size : {2, 3, 4}) {
            CAPTURE(algorithm);
            CAPTURE(size);
            run_in_memory(size, algorithm, sum_in_many_ways);
        }
}

TEST_CASE("nobody writes to the memory of a rank that has given up, though others waited with what it had lent") {
    for (const char* algorithm : {"direct", "star"}) {
        CAPTURE(algorithm);
        std::atomic<int> called{0}, told{0};
        run_in_memory(4, algorithm, [&](communicator& world) { return leave_in_the_middle(world, called, told); });
    }
}
