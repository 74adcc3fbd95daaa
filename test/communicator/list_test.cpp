#include "support/allocations.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"
#include "support/scattered.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <random>

namespace list_test {

using namespace tutti;
using test::run_ranks;
using test::scattered;
using test::slices_of;

namespace {

struct entry {
    entry(const std::vector<std::size_t>& lengths, const test::call& one, int size, std::uint64_t seed)
        : counts(lengths),
          what(one),
          truth(one, size, seed) {}
    std::vector<std::size_t> counts;
    test::call what;
    test::oracle truth;
};

std::deque<entry> programme(int size) {
    std::deque<entry> all;
    int turn = size;
    for (const auto& counts : test::awkward_lists())
        for (int some = 0; some < 3; ++some, turn += 7) {
            const reduction op = test::all_ops[static_cast<std::size_t>(turn) % std::size(test::all_ops)];
            const data_type type = test::type_for(op, static_cast<std::size_t>(turn));
            all.emplace_back(counts, test::call{collective::all_reduce, type, op, 0, test::total(counts)}, size,
                             static_cast<std::uint64_t>(turn));
        }
    return all;
}

task<> rehearse(communicator& world, const std::deque<entry>& all, bool at_once) {
    std::deque<scattered> parts;
    std::vector<future<>> begun;
    for (const entry& each : all) {
        parts.emplace_back(each.what.type, each.counts).fill(each.truth.input(world.rank()));
        auto one = world.all_reduce(parts.back().list(), each.what.op);
        if (at_once) begun.push_back(std::move(one));
        else co_await std::move(one);
    }
    for (auto& each : begun) co_await std::move(each);
    for (std::size_t index = 0; index < all.size(); ++index) {
        CAPTURE(index);
        REQUIRE(test::alike(all[index].what.type, parts[index].joined(), all[index].truth.expected(world.rank())));
    }
}

task<> use_conveniences(communicator& world) {
    std::vector<float> weights(30, 1);
    std::array<float, 2> bias{static_cast<float>(world.rank()), 5};
    float one = 4;
    auto begun = world.all_reduce(buffers(weights, bias, std::span(&one, 1)), sum);
    co_await std::move(begun);
    CHECK(weights == std::vector<float>(30, 3));
    CHECK(bias == std::array<float, 2>{3, 15});
    CHECK(one == 12);
    auto again = world.all_reduce({buffer(std::span(weights)), buffer(&one, 1, data_type::f32)}, avg);
    co_await std::move(again);
    CHECK(one == 12);
    CHECK(weights == std::vector<float>(30, 3));
}

/// Whatever the list is kept in, and however it is known what is to be done, its buffers are meant, not their addresses.
task<> use_lists_that_may_change(communicator& world) {
    std::vector<float> first(3, 1), second(2, 2);
    auto array = buffers(first, second);
    std::vector<buffer> vector(array.begin(), array.end());
    buffer plain[] = {array[0], array[1]};
    const reduction known_later = sum;
    co_await world.all_reduce(array, sum);
    co_await world.all_reduce(vector, sum);
    co_await world.all_reduce(plain, known_later);
    co_await world.all_reduce(std::span(vector), reduction(reduce_op::sum));
    CHECK(first == std::vector<float>(3, 16));
    CHECK(second == std::vector<float>(2, 32));
}

// ---- ranks that disagree

struct row {
    const char* name;
    std::vector<std::size_t> counts;  // on rank 1; {4, 6, 10} of f32 on the others
    data_type type;
    const char* theirs;
};
const std::vector<std::size_t> right{4, 6, 10};
const row rows[] = {
    {"type", {4, 6, 10}, data_type::i32, "all_reduce i32 sum count 20 in 3 buffers"},
    {"one buffer more, empty", {4, 6, 10, 0}, data_type::f32, "all_reduce f32 sum count 20 in 4 buffers"},
    {"two buffers joined", {10, 10}, data_type::f32, "all_reduce f32 sum count 20 in 2 buffers"},
    {"other total", {4, 6, 11}, data_type::f32, "all_reduce f32 sum count 21 in 3 buffers"},
    {"other sizes", {4, 7, 9}, data_type::f32, "all_reduce f32 sum count 20 in 3 buffers of sizes #"},
    {"other order", {6, 4, 10}, data_type::f32, "all_reduce f32 sum count 20 in 3 buffers of sizes #"},
    {"no list", {}, data_type::f32, "all_reduce f32 sum count 20 "},
};

task<> disagree(communicator& world, const row& one) {
    const bool other = world.rank() == 1;
    std::vector<float> whole(20, 1);
    scattered mine(other ? one.type : data_type::f32, other ? one.counts : right);
    const test::byte_vector before(mine.joined().size(), std::byte{0x3f});
    mine.fill(before);
    auto begun = other && one.counts.empty() ? world.all_reduce(whole, sum) : world.all_reduce(mine.list(), sum);
    auto ended = co_await as_result(std::move(begun));
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::mismatch);
    CHECK((mine.joined() == before && whole == std::vector<float>(20, 1)));
    const std::string& cause = ended.failure().details().cause;
    CAPTURE(cause);
    CHECK(cause.find("rank 1 called " + std::string(one.theirs)) != std::string::npos);
    CHECK(cause.find("all_reduce f32 sum count 20 in 3 buffers") != std::string::npos);
}

task<> count_allocations(communicator& world, std::size_t& most) {
    std::vector<std::size_t> counts(161);
    std::mt19937_64 lengths{161};
    for (auto& each : counts) each = lengths() % 7000;
    const scattered large(data_type::f32, counts), small(data_type::f32, std::span(counts).first(5));
    for (int step = 0; step < 70; ++step) {
        co_await world.barrier();
        const std::size_t before = test::allocations();
        auto one = world.all_reduce(large.list(), avg);
        auto other = world.all_reduce(small.list(), max);
        co_await std::move(one);
        co_await std::move(other);
        co_await world.barrier();
        if (step >= 10 && step < 60) most = std::max(most, test::allocations() - before);
    }
}

}  // namespace

TEST_CASE("a list of buffers is combined like one vector, on any number of ranks" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const int size : {1, 2, 3, 4, 5, 7, 8}) {
        const auto all = programme(size);
        for (const std::size_t slice_bytes : {std::size_t{64}, 256 * KiB})
            for (const bool at_once : {false, true}) {
                CAPTURE(size);
                CAPTURE(slice_bytes);
                CAPTURE(at_once);
                run_ranks(
                    size, [&](communicator& world) { return rehearse(world, all, at_once); }, slices_of(slice_bytes));
            }
    }
}

TEST_CASE("vectors, arrays and spans may be listed in the call") { run_ranks(3, use_conveniences); }
TEST_CASE("a list of buffers may be kept in whatever holds them, const or not") { run_ranks(2, use_lists_that_may_change); }

TEST_CASE("ranks with different lists all hear in words what differs, before anything is written") {
    for (const row& each : rows) {
        CAPTURE(each.name);
        run_ranks(3, [&each](communicator& world) { return disagree(world, each); });
    }
}

TEST_CASE("after warm-up lists allocate nothing, on any rank" * doctest::skip(!test::counts_allocations)) {
    std::size_t most = 0;
    run_ranks(4, [&](communicator& world) { return count_allocations(world, most); });
    CHECK(most == 0);
}

}  // namespace list_test
