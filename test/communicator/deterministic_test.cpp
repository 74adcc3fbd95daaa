// The deterministic mode: the bits of a result do not depend on how elements are put into calls.
#include <tutti/persistent.hpp>

#include "support/oracle.hpp"
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"
#include "support/scattered.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <random>

namespace deterministic_test {

using namespace tutti;
using test::byte_vector;
using test::run_ranks;

namespace {

const custom_op<double> hypotenuse("hypotenuse", commutes::no, [](const double& left, const double& right) {
    return std::sqrt(left * left + right * right) + 0.25 * left;  // neither commutative nor associative
});

struct row {
    data_type type;
    reduction op;
    std::size_t count;
};
const row rows[] = {
    {data_type::f32, sum, 40'320},
    {data_type::f64, sum, 5040},
    {data_type::f16, avg, 5040},
    {data_type::bf16, sum, 5040},
    {data_type::cf32, prod, 2520},
    {data_type::f32, avg, 2520},
    {data_type::f32, premul_sum(0.3), 2520},
    {data_type::f64, hypotenuse, 2520},
};

/// The contributions of all ranks, and what the documented grouping makes of them, worked out element by element.
class answer {
public:
    answer(const row& what, int size) : what_(what), size_(size) {
        for (rank each = 0; each < size; ++each)
            inputs_.push_back(test::make_elements(what.type, what.count, 77 + static_cast<std::uint64_t>(each), test::contents::random));
    }
    const byte_vector& input(rank who) const { return inputs_[static_cast<std::size_t>(who)]; }

    /// Pairs until a power of two is left, then neighbours again and again.
    byte_vector of_all() const {
        const auto extra = size_ - static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
        std::vector<byte_vector> parts;
        for (rank each = 0; each < size_; ++each)
            if (each < 2 * extra && each % 2 == 1) parts.back() = combined(parts.back(), contribution(each));
            else parts.push_back(contribution(each));
        while (parts.size() > 1) {
            std::vector<byte_vector> fewer;
            for (std::size_t first = 0; first < parts.size(); first += 2) fewer.push_back(combined(parts[first], parts[first + 1]));
            parts = std::move(fewer);
        }
        if (what_.op == reduce_op::avg) divide_scalar(what_.type, parts[0].data(), what_.count, size_);
        return parts[0];
    }
    /// Of ranks 0 to count - 1: the sum of the last 2^k is added to that of the 2^k before it, and so on.
    byte_vector of_first(rank count) const { return window(count - 1, std::bit_ceil(static_cast<unsigned>(count))); }

private:
    byte_vector window(rank last, unsigned length) const {
        if (length == 1) return contribution(last);
        const auto before = last - static_cast<rank>(length / 2);
        return before < 0 ? window(last, length / 2) : combined(window(before, length / 2), window(last, length / 2));
    }
    byte_vector contribution(rank who) const {
        byte_vector mine = input(who);
        if (what_.op.kind() == reduce_op::premul) scale_scalar(what_.type, mine.data(), mine.data(), what_.count, what_.op.factor());
        return mine;
    }
    byte_vector combined(const byte_vector& left, const byte_vector& right) const {
        byte_vector made = left;
        if (what_.op.user()) what_.op.user()->combine(made.data(), left.data(), right.data(), what_.count);
        else combine_scalar(what_.op.kind(), what_.type, made.data(), left.data(), right.data(), what_.count);
        return made;
    }

    row what_;
    int size_;
    std::vector<byte_vector> inputs_;
};

/// One rank's copy of the vector, and parts of it.
struct copied {
    copied(const row& one, const byte_vector& from) : what(one), data(from) {}
    buffer part(std::size_t first, std::size_t count) { return {data.data() + first * size_of(what.type), count, what.type}; }
    buffer whole() { return part(0, what.count); }
    const row& what;
    byte_vector data;
};

/// Where `count` elements are cut, in as many ways as seeds: a few large parts and many small ones.
std::vector<std::size_t> cuts(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::vector<std::size_t> lengths;
    for (std::size_t left = count; left > 0; left -= lengths.back())
        lengths.push_back(std::min<std::size_t>(left, random() % 4 == 0 ? 1 + random() % (count / 2) : 1 + random() % 50));
    return lengths;
}

/// Every element in a call with others, as `lengths` says, all of them under way at once.
task<byte_vector> reduce_parts(communicator& world, const row& what, const byte_vector& mine, const std::vector<std::size_t>& lengths) {
    copied memory(what, mine);
    std::vector<future<>> begun;
    std::size_t first = 0;
    for (const std::size_t count : lengths) {
        begun.push_back(world.all_reduce(memory.part(first, count), what.op));
        first += count;
    }
    for (auto& each : begun) co_await std::move(each);
    co_return memory.data;
}

task<byte_vector> reduce_list(communicator& world, const row& what, const byte_vector& mine, const std::vector<std::size_t>& lengths) {
    test::scattered list(what.type, lengths);
    list.fill(mine);
    co_await world.all_reduce(list.list(), what.op);
    co_return list.joined();
}

task<byte_vector> reduce_persistently(communicator& world, const row& what, const byte_vector& mine) {
    copied memory(what, mine);
    persistent call([&](call_options how) { return world.all_reduce(memory.whole(), what.op, how); });
    for (int turn = 0; turn < 2; ++turn) {
        memory.data = mine;
        co_await call.start();
    }
    co_return memory.data;
}

task<> all_reduce_every_way(communicator& world, const row& what, const answer& right) {
    const byte_vector expected = right.of_all(), &mine = right.input(world.rank());
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        const auto lengths = cuts(what.count, seed);
        const byte_vector parts = co_await reduce_parts(world, what, mine, lengths);
        CHECK(parts == expected);
        const byte_vector listed = co_await reduce_list(world, what, mine, lengths);
        CHECK(listed == expected);
    }
    const std::vector<std::size_t> one{what.count};
    const byte_vector fused = co_await reduce_parts(world, what, mine, one);
    CHECK(fused == expected);
    const byte_vector repeated = co_await reduce_persistently(world, what, mine);
    CHECK(repeated == expected);
}

/// To every root, whole and in two parts.
task<> reduce_every_way(communicator& world, const row& what, const answer& right) {
    const byte_vector expected = right.of_all();
    for (rank root = 0; root < world.size(); ++root) {
        copied memory(what, right.input(world.rank()));
        const std::size_t first = root == 0 ? 0 : 5;
        auto one = world.reduce(memory.part(0, first), what.op, root);
        auto other = world.reduce(memory.part(first, what.count - first), what.op, root);
        co_await std::move(one);
        co_await std::move(other);
        if (world.rank() == root) CHECK(memory.data == expected);
    }
}

/// Whole, and with counts of which the first rank has most.
task<> scatter_every_way(communicator& world, const row& what, const answer& right) {
    const byte_vector all = right.of_all();
    const std::size_t each = what.count / static_cast<std::size_t>(world.size()), element = size_of(what.type);
    const auto me = static_cast<std::size_t>(world.rank());
    copied from(what, right.input(world.rank())), to(what, from.data);
    co_await world.reduce_scatter(from.part(0, each * static_cast<std::size_t>(world.size())), to.part(0, each), what.op);
    CHECK(std::memcmp(to.data.data(), all.data() + me * each * element, each * element) == 0);

    std::vector<std::size_t> counts(static_cast<std::size_t>(world.size()), 3);
    counts[0] = what.count - 3 * (counts.size() - 1);
    const std::size_t first = me == 0 ? 0 : counts[0] + 3 * (me - 1);
    co_await world.reduce_scatter_v(from.whole(), to.part(0, counts[me]), counts, what.op);
    CHECK(std::memcmp(to.data.data(), all.data() + first * element, counts[me] * element) == 0);
}

task<> scan_every_way(communicator& world, const row& what, const answer& right) {
    if (what.op == reduce_op::avg) co_return;
    copied memory(what, right.input(world.rank()));
    auto one = world.scan(memory.part(0, 7), what.op);
    auto other = world.scan(memory.part(7, what.count - 7), what.op);
    co_await std::move(one);
    co_await std::move(other);
    CHECK(memory.data == right.of_first(world.rank() + 1));
    if (what.op.user()) co_return;
    memory.data = right.input(world.rank());
    co_await world.exclusive_scan(memory.whole(), what.op);
    if (world.rank() > 0) CHECK(memory.data == right.of_first(world.rank()));
}

task<> every_way(communicator& world, const row& what, const answer& right) {
    co_await all_reduce_every_way(world, what, right);
    co_await reduce_every_way(world, what, right);
    co_await scatter_every_way(world, what, right);
    co_await scan_every_way(world, what, right);
}

context_options deterministic_options(bool deterministic, std::size_t slice_bytes = 4096) {
    context_options options;
    options.deterministic = deterministic;
    options.slice_bytes = slice_bytes;
    options.small_bytes = 256;
    return options;
}

// ---- who decides

/// Checks that a sum over a child of the odd and even ranks, and one over all, are those of the mode.
task<> sum_in_children(communicator& world, bool& all_right) {
    const row what{data_type::f32, sum, 3000};
    const answer whole(what, world.size()), half(what, world.size() / 2);
    const std::vector<std::size_t> one{what.count};
    const byte_vector together = co_await reduce_parts(world, what, whole.input(world.rank()), one);
    auto splitting = world.split(world.rank() % 2, world.rank());
    const auto child = co_await std::move(splitting);
    const byte_vector apart = co_await reduce_parts(*child, what, half.input(child->rank()), one);
    all_right &= together == whole.of_all() && apart == half.of_all();
    auto closing = child->close();
    co_await std::move(closing);
}

/// With costs by which a ring is always the cheapest.
bool mode_of(const std::function<bool(rank)>& deterministic) {
    bool all_right = true;
    event_loop loop(event_loop::virtual_time);
    memory_network network;
    run_ranks(
        loop, 10, [&network](event_loop& on) { return std::make_unique<memory_transport>(on, network); },
        [&](communicator& world) { return sum_in_children(world, all_right); },
        [&](rank me) {
            context_options options = deterministic_options(deterministic(me));
            options.costs.emplace();
            options.costs->round = options.costs->message = 0;
            return options;
        });
    return all_right;
}

}  // namespace

TEST_CASE("every element is combined as documented, fused or alone, in lists, buckets and slices, by every reduction" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const int size : {1, 2, 3, 4, 5, 6, 7, 8})
        for (const row& what : rows) {
            CAPTURE(size);
            CAPTURE(name(what.type));
            CAPTURE(name(what.op.kind()));
            const answer right(what, size);
            run_ranks(
                size, [&](communicator& world) { return every_way(world, what, right); }, deterministic_options(true));
        }
}

TEST_CASE("slices and lanes change no bit" * doctest::skip(test::sanitizer_wants_threads)) {
    const row what{data_type::bf16, sum, 9001};
    const answer right(what, 7);
    for (const std::size_t slice_bytes : {std::size_t{64}, std::size_t{1000}, 256 * KiB})
        for (const int lanes : {1, 3}) {
            CAPTURE(slice_bytes);
            CAPTURE(lanes);
            context_options options = deterministic_options(true, slice_bytes);
            options.lanes = lanes;
            run_ranks(
                7, [&](communicator& world) { return every_way(world, what, right); }, options);
        }
}

TEST_CASE("rank 0 decides about the mode, and children inherit it") {
    CHECK(mode_of([](rank) { return true; }));
    CHECK(mode_of([](rank me) { return me == 0; }));
    CHECK_FALSE(mode_of([](rank me) { return me != 0; }));
}

}  // namespace deterministic_test
