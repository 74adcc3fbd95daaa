// Types and operators as users see them: operators of their own, structs, bool, complex numbers, and what is refused.
#include "support/failures.hpp"
#include "support/rank_threads.hpp"
#include "support/sanitizers.hpp"

#include <tutti/communicator.hpp>
#include <tutti/persistent.hpp>

#include <doctest/doctest.h>

#include <array>
#include <complex>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace operators_test {

using namespace tutti;
using test::run_ranks;
using test::slices_of;

namespace {

/// The largest value and where it is.
struct extreme {
    double value = 0;
    std::int32_t at = 0;
    friend bool operator==(const extreme&, const extreme&) = default;
};
const custom_op<extreme> largest("largest", commutes::yes, [](const extreme& a, const extreme& b) {
    return a.value > b.value || (a.value == b.value && a.at < b.at) ? a : b;
});

/// x -> scale x + shift modulo 65537, in words of 32 bits: composition is associative and does not commute.
struct line {
    std::uint32_t scale = 1, shift = 0;
    friend bool operator==(const line&, const line&) = default;
};
line then(const line& first, const line& second) {
    const auto wide = [](std::uint64_t value) { return static_cast<std::uint32_t>(value % 65537); };
    return {wide(std::uint64_t{first.scale} * second.scale), wide(std::uint64_t{first.shift} * second.scale + second.shift)};
}
constexpr line unchanged{1, 0};
const custom_op<line> composition("composition", commutes::no, then, unchanged);
const auto onto_right = [](std::span<const line> left, std::span<line> inout) {
    for (std::size_t index = 0; index < left.size(); ++index) inout[index] = then(left[index], inout[index]);
};
const custom_op<line> composition_of_spans("composition", commutes::no, onto_right, unchanged);

std::vector<line> lines_of(rank who, std::size_t count) {
    std::vector<line> made(count);
    for (std::size_t index = 0; index < count; ++index)
        made[index] = {static_cast<std::uint32_t>(2 + 3 * who) + static_cast<std::uint32_t>(index),
                       static_cast<std::uint32_t>(100 * who) + 7};
    return made;
}
std::vector<line> composed(int size, std::size_t count) {
    auto all = lines_of(0, count);
    for (rank each = 1; each < size; ++each) {
        const auto next = lines_of(each, count);
        for (std::size_t index = 0; index < count; ++index) all[index] = then(all[index], next[index]);
    }
    return all;
}

task<> compose(communicator& world, const custom_op<line>& op) {
    const auto size = static_cast<std::size_t>(world.size());
    for (const std::size_t count : std::initializer_list<std::size_t>{0, 1, size + 1, 509, 30'011}) {
        CAPTURE(count);
        const auto mine = lines_of(world.rank(), count), expected = composed(world.size(), count);
        auto data = mine;
        co_await world.all_reduce(data, op);
        CHECK(data == expected);
        std::vector<line> result(count);
        co_await world.all_reduce(mine, result, op);
        CHECK(result == expected);
        for (rank root = 0; root < world.size(); ++root) {
            data = mine;
            co_await world.reduce(data, op, root);
            CHECK(data == (world.rank() == root ? expected : mine));
        }
        const auto parts = lines_of(world.rank(), count * size);
        const auto all = composed(world.size(), count * size);
        co_await world.reduce_scatter(parts, result, op);
        CHECK(std::equal(result.begin(), result.end(),
                         all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(world.rank()) * count)));
        const std::vector<std::size_t> counts(size, count);
        std::fill(result.begin(), result.end(), line());
        co_await world.reduce_scatter_v(parts, result, counts, op);
        CHECK(std::equal(result.begin(), result.end(),
                         all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(world.rank()) * count)));
        co_await world.scan(mine, result, op);
        CHECK(result == composed(world.rank() + 1, count));
        co_await world.exclusive_scan(mine, result, op);
        CHECK(result == (world.rank() == 0 ? std::vector<line>(count, unchanged) : composed(world.rank(), count)));
        data = mine;
        co_await world.exclusive_scan(data, op);
        CHECK(data == result);
    }
}

task<> find_largest(communicator& world) {
    std::vector<extreme> data(100);
    for (std::size_t index = 0; index < data.size(); ++index)
        data[index] = {static_cast<double>((world.rank() * 37 + static_cast<int>(index) * 11) % 5), world.rank()};
    co_await world.all_reduce(data, largest);
    for (std::size_t index = 0; index < data.size(); ++index) {
        extreme expected{-1, 0};
        for (rank each = 0; each < world.size(); ++each) {
            const double value = (each * 37 + static_cast<int>(index) * 11) % 5;
            if (value > expected.value) expected = {value, each};
        }
        CHECK(data[index] == expected);
    }
}

// ---- exceptions

enum class way { all_reduce, reduce, reduce_scatter, scan, list, persistent, allocated };

struct plan {
    way how;
    rank thrower;
    bool standard;
};

/// An operator that throws on one rank, and the failure that this rank hears of.
task<> throw_somewhere(communicator& world, plan what, test::failures& all) {
    const bool throws = world.rank() == what.thrower, standard = what.standard;
    const custom_op<int> picky("picky", commutes::yes, [throws, standard](int a, int b) {
        if (throws && standard) throw std::runtime_error("thirteen is unlucky");
        if (throws) throw 13;
        return a + b;
    });
    std::vector<int> data(static_cast<std::size_t>(world.size()) * 1000), part(1000);
    auto shared = world.allocate<int>(data.size());
    const buffer list[] = {std::span(part), std::span(data)};
    call_options allocated;
    allocated.allocated = true;
    persistent step;
    co_await world.barrier();  // all have joined
    future<> called;
    switch (what.how) {
        case way::all_reduce: called = world.all_reduce(data, picky); break;
        case way::reduce: called = world.reduce(data, picky, 0); break;
        case way::reduce_scatter: called = world.reduce_scatter(data, part, picky); break;
        case way::scan: called = world.scan(data, picky); break;
        case way::list: called = world.all_reduce(list, picky); break;
        case way::allocated: called = world.all_reduce(shared, picky, allocated); break;
        case way::persistent:
            step = persistent([&](call_options how) { return world.all_reduce(data, picky, how); });
            called = step.start();
    }
    auto ended = co_await as_result(std::move(called));
    // A rank whose part was done may have ended well; the next call tells it too.
    if (ended) {
        auto next = world.barrier();
        ended = co_await as_result(std::move(next));
    }
    if (!ended) all[static_cast<std::size_t>(world.rank())] = ended.failure();
}

test::failures throw_from(rank thrower, way how, int size, bool standard, std::optional<transport_kind> over = {}) {
    test::failures all(static_cast<std::size_t>(size));
    context_options options;
    options.slice_bytes = 256;
    const plan what{how, thrower, standard};
    const auto body = [&](communicator& world) { return throw_somewhere(world, what, all); };
    if (over) {
        options.transport = *over;
        test::run_ranks_on_threads(size, body, [&options](rank) { return options; });
    } else {
        run_ranks(size, body, options);
    }
    return all;
}

// ---- values

task<> scale_and_add(communicator& world) {
    // The mean weighted by rank + 1: every rank has a factor of its own.
    const double weights = world.size() * (world.size() + 1) / 2.0;
    const premul_sum weighted((world.rank() + 1) / weights);
    const std::vector<double> mine(50, world.rank());
    std::vector<double> mean(50), data = mine;
    double expected = 0;
    for (rank each = 0; each < world.size(); ++each) expected += each * ((each + 1) / weights);
    co_await world.all_reduce(mine, mean, weighted);
    co_await world.all_reduce(data, weighted);
    CHECK(mean == data);
    CHECK(mean[49] == doctest::Approx(expected));
    CHECK(mine == std::vector<double>(50, world.rank()));
    data = mine;
    co_await world.reduce(data, weighted, world.size() - 1);
    if (world.rank() == world.size() - 1) CHECK(data[0] == doctest::Approx(expected));
    else CHECK(data == mine);
    const std::vector<float16> halves(static_cast<std::size_t>(3 * world.size()), float16(2.0f));
    std::vector<float16> part(3);
    co_await world.reduce_scatter(halves, part, premul_sum(0.25f));
    CHECK(part == std::vector<float16>(3, float16(0.5f * static_cast<float>(world.size()))));
    CHECK(halves == std::vector<float16>(halves.size(), float16(2.0f)));
}

task<> combine_truth(communicator& world) {
    const bool first = world.rank() == 0, odd = world.rank() % 2 == 1, several = world.size() > 1;
    const std::array<bool, 4> mine{true, false, first, odd};
    auto any = mine, all = mine, parity = mine;
    co_await world.all_reduce(any, sum);
    co_await world.all_reduce(all, prod);
    co_await world.all_reduce(parity, bxor);
    CHECK(any == std::array<bool, 4>{true, false, true, several});
    CHECK(all == std::array<bool, 4>{true, false, !several, false});
    CHECK(parity == std::array<bool, 4>{world.size() % 2 == 1, false, true, world.size() / 2 % 2 == 1});
}

task<> combine_complex(communicator& world) {
    using complex = std::complex<double>;
    std::vector<complex> total(7, complex(world.rank(), 1)), product(7, complex(0, 1)), mean = total;
    co_await world.all_reduce(total, sum);
    co_await world.all_reduce(product, prod);
    co_await world.all_reduce(mean, avg);
    const double size = world.size();
    const complex powers[] = {complex(1, 0), complex(0, 1), complex(-1, 0), complex(0, -1)};
    CHECK(total == std::vector<complex>(7, complex(size * (size - 1) / 2, size)));
    CHECK(product == std::vector<complex>(7, powers[world.size() % 4]));
    CHECK(mean == std::vector<complex>(7, complex((size - 1) / 2, 1)));
}

task<> move_structs(communicator& world) {
    const auto ranks = static_cast<std::size_t>(world.size());
    std::vector<line> mine = lines_of(world.rank(), 13), all(13 * ranks), expected;
    for (rank each = 0; each < world.size(); ++each)
        for (const line& one : lines_of(each, 13)) expected.push_back(one);
    co_await world.all_gather(mine, all);
    CHECK(all == expected);
    co_await world.broadcast(mine, 0);
    CHECK(mine == lines_of(0, 13));
    std::vector<line> exchanged(ranks);
    const auto out = lines_of(world.rank(), ranks);
    co_await world.all_to_all(out, exchanged);
    for (rank each = 0; each < world.size(); ++each)
        CHECK(exchanged[static_cast<std::size_t>(each)] == lines_of(each, ranks)[static_cast<std::size_t>(world.rank())]);
    if (world.size() == 1) co_return;
    const rank next = (world.rank() + 1) % world.size(), previous = (world.rank() + world.size() - 1) % world.size();
    std::array<extreme, 2> sent{extreme{1.5, world.rank()}, extreme{2.5, 7}}, received;
    auto sending = world.send(sent, next);
    co_await world.recv(received, previous);
    co_await std::move(sending);
    CHECK(received == std::array<extreme, 2>{extreme{1.5, previous}, extreme{2.5, 7}});
}

// ---- what is refused

struct refusal {
    error code;
    const char* cause;
    future<> (*call)(communicator&);
};
alignas(16) std::byte memory[1024];
buffer at(std::size_t offset, std::size_t count, data_type type) { return {memory + offset, count, type}; }
buffer opaque_at(std::size_t offset, std::size_t count, std::size_t bytes) { return {memory + offset, count, bytes}; }
const refusal refusals[] = {
    {error::unsupported, "rank 1 called all_reduce f32 band count 4: operator band is not defined for f32",
     [](communicator& c) { return c.all_reduce(at(0, 4, data_type::f32), band); }},
    {error::unsupported, "rank 1 called all_reduce cf32 min count 4: operator min is not defined for cf32",
     [](communicator& c) { return c.all_reduce(at(0, 4, data_type::cf32), min); }},
    {error::unsupported, "rank 1 called reduce bool avg count 4 root 0: operator avg is not defined for bool",
     [](communicator& c) { return c.reduce(at(0, 4, data_type::boolean), avg, 0); }},
    {error::unsupported, "rank 1 called reduce_scatter i32 premul count 4: operator premul is not defined for i32",
     [](communicator& c) { return c.reduce_scatter(at(0, 12, data_type::i32), at(512, 4, data_type::i32), premul_sum(2)); }},
    {error::unsupported, "rank 1 called all_reduce opaque(24 bytes) sum count 4: operator sum is not defined for opaque(24 bytes)",
     [](communicator& c) { return c.all_reduce(opaque_at(0, 4, 24), sum); }},
    {error::unsupported,
     "rank 0 gets what changes nothing, and operator 'largest' was made without an identity: give one to its constructor",
     [](communicator& c) { return c.exclusive_scan(opaque_at(0, 4, sizeof(extreme)), largest); }},
    {error::unsupported, "operator band is not defined for f32", [](communicator& c) { return c.scan(at(0, 4, data_type::f32), band); }},
    {error::unsupported, "rank 1 called scan f32 avg count 4: there is no avg of the ranks up to this one",
     [](communicator& c) { return c.scan(at(0, 4, data_type::f32), avg); }},
    {error::unsupported, "rank 1 called exclusive_scan i32 avg count 4: there is no avg of the ranks up to this one",
     [](communicator& c) { return c.exclusive_scan(at(0, 4, data_type::i32), avg); }},
    {error::unsupported, "rank 1 called all_reduce i16 premul count 1: operator premul is not defined for i16",
     [](communicator& c) {
         static std::int16_t number[1];
         const reduction known_at_run_time = premul_sum(2);
         return c.all_reduce(number, known_at_run_time);
     }},
    {error::invalid_argument, "operator 'largest' combines opaque(16 bytes), the elements are f32",
     [](communicator& c) { return c.all_reduce(at(0, 4, data_type::f32), largest); }},
    {error::invalid_argument, "operator 'largest' combines opaque(16 bytes), the elements are opaque(8 bytes)",
     [](communicator& c) { return c.all_reduce(opaque_at(0, 4, 8), largest); }},
    {error::invalid_argument, "the elements are not aligned for operator 'largest'",
     [](communicator& c) { return c.all_reduce(opaque_at(4, 4, 16), largest); }},
    {error::invalid_argument, "a custom operator needs its custom_op or untyped_op",
     [](communicator& c) { return c.all_reduce(at(0, 4, data_type::f32), reduce_op::custom); }},
    {error::invalid_argument, "the buffer has elements of 0 bytes", [](communicator& c) { return c.broadcast(opaque_at(0, 4, 0), 0); }},
    {error::invalid_argument, "the buffer has elements of 0 bytes",
     [](communicator& c) { return c.broadcast(at(0, 4, data_type::opaque), 0); }},
    {error::invalid_argument, "the input holds opaque(8 bytes), the output opaque(16 bytes)",
     [](communicator& c) { return c.all_to_all(opaque_at(0, 3, 8), opaque_at(512, 3, 16)); }},
    {error::invalid_argument, "the buffer is not aligned for cf64",
     [](communicator& c) { return c.broadcast(at(4, 4, data_type::cf64), 0); }},
};

task<> call_wrongly(communicator& world, const refusal& one, test::failures& all) {
    auto begun = world.rank() == 1 ? one.call(world) : world.barrier();
    auto ended = co_await as_result(std::move(begun));
    if (!ended) all[static_cast<std::size_t>(world.rank())] = ended.failure();
}

task<> disagree_about_size(communicator& world, test::failures& all) {
    std::vector<line> lines(4);
    std::vector<extreme> extremes(4);
    auto begun = world.rank() == 0 ? world.broadcast(lines, 0) : world.broadcast(extremes, 0);
    auto ended = co_await as_result(std::move(begun));
    if (ended) {
        auto next = world.barrier();
        ended = co_await as_result(std::move(next));
    }
    if (!ended) all[static_cast<std::size_t>(world.rank())] = ended.failure();
}

}  // namespace

TEST_CASE("a user's operator that does not commute combines in the order of ranks, in every reducing call" * doctest::skip(test::sanitizer_wants_threads)) {
    for (const custom_op<line>* op : {&composition, &composition_of_spans})
        for (const int size : {1, 2, 3, 4, 5, 8, 9}) {
            CAPTURE(size);
            run_ranks(
                size, [op](communicator& world) { return compose(world, *op); }, slices_of(4 * KiB));
        }
}

TEST_CASE("a user's operator combines structs") {
    for (const int size : {1, 2, 5, 8}) run_ranks(size, find_largest, slices_of(256));
}

TEST_CASE("what a user's operator throws ends the operation on all ranks, naming the rank and what it said") {
    const std::optional<transport_kind> everywhere[] = {std::nullopt, transport_kind::tcp, transport_kind::shm};
    for (const way how : {way::all_reduce, way::reduce, way::reduce_scatter, way::scan, way::list, way::persistent, way::allocated})
        for (const int size : {2, 3, 8})
            for (const auto over : everywhere) {
                if (over && size == 8) continue;
                CAPTURE(static_cast<int>(how));
                CAPTURE(size);
                CAPTURE(over.has_value());
                const rank thrower = how == way::scan ? size - 1 : 0;  // rank 0 combines nothing in a scan
                const auto all = throw_from(thrower, how, size, true, over);
                test::check_each(all, error::aborted, "operator 'picky' threw on rank " + std::to_string(thrower) + " in");
                test::check_each(all, error::aborted, "#2: thirteen is unlucky");
                for (const auto& each : all) CHECK(each->details().root == thrower);
            }
    test::check_each(throw_from(1, way::all_reduce, 4, false), error::aborted, "threw on rank 1 in all_reduce i32 custom count 4000");
    test::check_each(throw_from(1, way::all_reduce, 4, false), error::aborted, "something that is no std::exception");
}

TEST_CASE("every rank scales by a factor of its own before the sum, and no input changes") {
    for (const int size : {1, 2, 3, 5, 8}) run_ranks(size, scale_and_add, slices_of(64));
}

TEST_CASE("bool: a sum is or, a product is and, bxor is parity") {
    for (const int size : {1, 2, 3, 4, 7}) run_ranks(size, combine_truth);
}

TEST_CASE("complex numbers have sums, products and averages") {
    for (const int size : {1, 2, 3, 6}) run_ranks(size, combine_complex, slices_of(48));
}

TEST_CASE("structs are moved as they are") {
    for (const int size : {1, 2, 3, 5}) run_ranks(size, move_structs, slices_of(64));
}

TEST_CASE("a type and operator that do not go together are told by name, on all ranks, and so is an operator for other elements") {
    for (const refusal& each : refusals) {
        CAPTURE(each.cause);
        test::failures all(3);
        run_ranks(3, [&](communicator& world) { return call_wrongly(world, each, all); });
        test::check_each(all, each.code, each.cause);
    }
}

TEST_CASE("ranks whose elements differ in size disagree, and say so") {
    test::failures all(2);
    run_ranks(2, [&all](communicator& world) { return disagree_about_size(world, all); });
    test::check_each(
        all, error::mismatch,
        "rank 1 called broadcast opaque(16 bytes) count 4 root 0 where rank 0 called broadcast opaque(8 bytes) count 4 root 0");
}

}  // namespace operators_test
