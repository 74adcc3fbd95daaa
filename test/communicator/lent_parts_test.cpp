// Memory that several ranks lend for the same blocks is combined where it lies, when all of it is there. Sums are right whichever ranks lend,
// whichever rank comes last, and when a rank leaves in the middle.
#include "group/context_state.hpp"
#include "support/ranks.hpp"
#include "support/threads.hpp"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

namespace lent_parts_test {

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

/// In the arena, or ordinary.
class some_memory {
public:
    some_memory(communicator& world, bool lent, std::size_t count)
        : arena_(world.allocate<float>(lent ? count : 0)),
          ordinary_(lent ? 0 : count) {}
    std::span<float> all() noexcept { return ordinary_.empty() ? std::span<float>(arena_) : std::span<float>(ordinary_); }

private:
    shared_array<float> arena_;
    std::vector<float> ordinary_;
};

/// Bit r of `lenders`: rank r works in the arena, and the others in ordinary memory; of `takers`, if there are any, the same of where the sums
/// go; else these go where the input is.
task<> sum_lent(communicator& world, unsigned lenders, std::optional<unsigned> takers, std::size_t count, reduction op,
                std::minstd_rand& random) {
    some_memory data(world, (lenders >> world.rank() & 1U) != 0, count);
    some_memory sums(world, (takers.value_or(0) >> world.rank() & 1U) != 0, takers ? count : 0);
    for (std::size_t index = 0; index < count; ++index) data.all()[index] = given(index, world.rank());
    dawdle(random);
    if (takers) co_await world.all_reduce(data.all(), sums.all(), op);
    else co_await world.all_reduce(data.all(), op);
    std::size_t wrong = count_wrong(takers ? sums.all() : data.all(), op, world.size());
    for (std::size_t index = 0; takers && index < count; ++index) wrong += data.all()[index] != given(index, world.rank());
    if (wrong > 0)
        FAIL_CHECK("of ", count, " elements ", wrong, " are wrong on rank ", world.rank(), ", lenders ", lenders, ", takers ",
                   takers.value_or(0));
}

task<> sum_in_many_ways(communicator& world) {
    std::minstd_rand random(static_cast<unsigned>(world.rank()) + 1);
    const unsigned end = 1U << world.size();
    for (unsigned lenders = 0; lenders < end; ++lenders) {
        for (const std::size_t count : {9'000u, 70'001u, 300'007u}) co_await sum_lent(world, lenders, std::nullopt, count, sum, random);
        co_await sum_lent(world, lenders, std::nullopt, 20'011, max, random);
        co_await sum_lent(world, lenders, std::nullopt, 20'011, avg, random);
        for (unsigned takers = 0; takers < end; ++takers) co_await sum_lent(world, lenders, takers, 20'011, sum, random);
    }
    for (const unsigned lenders : {~0U, ~1U}) {
        co_await sum_lent(world, lenders, std::nullopt, 1'000'037, sum, random);
        for (const unsigned takers : {0U, ~0U, ~1U}) co_await sum_lent(world, lenders, takers, 1'000'037, sum, random);
    }
}

void wait_until(const std::atomic<int>& number, int is) {
    while (number < is) std::this_thread::yield();
}

/// Rank 0 gives up while the others wait for the last, which comes when they have all heard of it. From then on no rank writes to their memory.
task<> leave_in_the_middle(communicator& world, bool apart, std::atomic<int>& called, std::atomic<int>& told) {
    const bool last = world.rank() == world.size() - 1;
    auto data = world.allocate<float>(400'000), given = world.allocate<float>(400'000);
    const auto call = [&] { return apart ? world.all_reduce(given, data, sum) : world.all_reduce(data, sum); };
    co_await call();
    if (last) wait_until(told, world.size() - 1);
    auto summing = call();
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
    for (const char* algorithm : {"direct", "star"})
        for (const bool apart : {false, true}) {
            CAPTURE(algorithm);
            CAPTURE(apart);
            std::atomic<int> called{0}, told{0};
            run_in_memory(4, algorithm, [&](communicator& world) { return leave_in_the_middle(world, apart, called, told); });
        }
}

}  // namespace lent_parts_test
