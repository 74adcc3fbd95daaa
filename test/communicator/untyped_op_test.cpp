// Operators on elements whose size is known only when the program runs, in every call that reduces.
#include "communicator/over_each.hpp"
#include "communicator/rehearsal.hpp"
#include "support/ranks.hpp"

#include <stdexcept>

namespace untyped_op_test {

using namespace tutti;
using test::programme;
using test::run_ranks;
using test::slices_of;

namespace {

constexpr int modulus = 251;

/// Elements of `bytes` bytes: pairs (scale, shift), each a function x -> scale x + shift modulo 251, which are composed; and a byte more where
/// the number is odd, of which the right one stays. Neither commutes. An element's bytes are all below 251 after the first step.
untyped_op composition(std::size_t bytes, std::size_t alignment) {
    test::byte_vector identity(bytes, std::byte{0});
    for (std::size_t at = 0; at + 1 < bytes; at += 2) identity[at] = std::byte{1};
    const auto compose = [bytes, alignment](const void* left, void* inout, std::size_t count) {
        for (const void* each : {left, static_cast<const void*>(inout)})
            if (reinterpret_cast<std::uintptr_t>(each) % alignment != 0) throw std::logic_error("elements that are not aligned");
        const auto* from = static_cast<const std::uint8_t*>(left);
        auto* to = static_cast<std::uint8_t*>(inout);
        for (std::size_t element = 0; element < count; ++element, from += bytes, to += bytes)
            for (std::size_t at = 0; at + 1 < bytes; at += 2) {
                const int scale = to[at] * from[at] % modulus, shift = (to[at] * from[at + 1] + to[at + 1]) % modulus;
                to[at] = static_cast<std::uint8_t>(scale);
                to[at + 1] = static_cast<std::uint8_t>(shift);
            }
    };
    return untyped_op("composition", commutes::no, bytes, alignment, compose, identity);
}

/// A sum of each byte, which commutes.
untyped_op addition(std::size_t bytes, std::size_t alignment) {
    const auto add = [bytes](const void* left, void* inout, std::size_t count) {
        const auto* from = static_cast<const std::uint8_t*>(left);
        auto* to = static_cast<std::uint8_t*>(inout);
        for (std::size_t at = 0; at < count * bytes; ++at) to[at] = static_cast<std::uint8_t>(to[at] + from[at]);
    };
    return untyped_op("addition", commutes::yes, bytes, alignment, add, test::byte_vector(bytes, std::byte{0}));
}

programme reductions(int size, const untyped_op& op, std::initializer_list<std::size_t> counts) {
    programme all;
    int turn = size;
    for (const auto kind : test::all_kinds)
        for (const std::size_t count : counts) {
            if (!reduces(kind)) continue;
            test::call what{kind, data_type::opaque, op, 0, count, op.element_bytes()};
            if (has_root(kind)) what.root = turn % size;
            all.add(what, size, turn++ % 2 == 0);
        }
    return all;
}

task<> reduce_typed(communicator& world) {
    struct pair {
        std::uint32_t low, high;
    };
    const untyped_op largest("largest", commutes::yes, sizeof(pair), alignof(pair), [](const void* left, void* inout, std::size_t count) {
        for (std::size_t index = 0; index < count; ++index) {
            const pair& one = static_cast<const pair*>(left)[index];
            pair& other = static_cast<pair*>(inout)[index];
            if (one.high > other.high) other = one;
        }
    });
    const untyped_op product("product", commutes::yes, data_type::f64, [](const void* left, void* inout, std::size_t count) {
        for (std::size_t index = 0; index < count; ++index) static_cast<double*>(inout)[index] *= static_cast<const double*>(left)[index];
    });
    std::vector<pair> pairs(7, pair{1, static_cast<std::uint32_t>(world.rank())});
    co_await world.all_reduce(pairs, largest);
    for (const pair& each : pairs) CHECK(each.high == static_cast<std::uint32_t>(world.size() - 1));
    std::vector<double> factors(5, 2), more(3, 3);
    co_await world.all_reduce(factors, product);
    CHECK(factors == std::vector<double>(5, 8));
    factors.assign(5, 2);
    co_await world.all_reduce(buffers(factors, more), product);
    CHECK(factors == std::vector<double>(5, 8));
    CHECK(more == std::vector<double>(3, 27));
}

/// Rank 1 has elements of another size, and an operator for them.
task<> disagree(communicator& world, int& told) {
    const std::size_t bytes = world.rank() == 1 ? 12 : 3;
    const untyped_op op = addition(bytes, 1);
    test::byte_vector data(8 * bytes);
    auto begun = world.all_reduce(buffer(data.data(), 8, bytes), op);
    auto ended = co_await as_result(std::move(begun));
    if (ended) ended = co_await as_result(world.barrier());
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::mismatch);
    const std::string& cause = ended.failure().details().cause;
    CAPTURE(cause);
    CHECK(cause.find("rank 1 called all_reduce opaque(12 bytes) custom count 8") != std::string::npos);
    CHECK(cause.find("all_reduce opaque(3 bytes) custom count 8") != std::string::npos);
    ++told;
}

task<> misuse(communicator& world, const char* cause, bool wrong_size) {
    const untyped_op op = addition(wrong_size ? 12 : 4, 4);
    alignas(4) std::array<std::byte, 64> memory{};
    const buffer data(memory.data() + (wrong_size ? 0 : 1), 3, std::size_t{4});
    auto begun = world.all_reduce(data, op);
    const auto ended = co_await as_result(std::move(begun));
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code() == error::invalid_argument);
    CHECK(ended.failure().details().cause.ends_with(cause));
}

}  // namespace

TEST_CASE("an operator on elements of a size known at run time gives the serial result in every reducing call") {
    struct {
        std::size_t bytes, alignment;
    } const elements[] = {{1, 1}, {3, 1}, {12, 4}, {40, 8}};
    for (const auto& each : elements)
        for (const int size : {1, 2, 3, 5, 8}) {
            CAPTURE(each.bytes);
            CAPTURE(size);
            const untyped_op ordered = composition(each.bytes, each.alignment), free = addition(each.bytes, each.alignment);
            for (const untyped_op* op : {&ordered, &free}) {
                const programme all = reductions(size, *op, {0, 1, 2, 7, 509});
                const std::size_t slice_bytes = op == &free ? 100 : 4 * KiB;
                run_ranks(
                    size, [&](communicator& world) { return test::rehearse(world, all); }, slices_of(slice_bytes));
            }
        }
}

TEST_CASE("an operator on elements of a size known at run time serves over every transport") {
    const untyped_op ordered = composition(40, 8), free = addition(3, 1);
    for (const untyped_op* op : {&ordered, &free}) {
        const programme all = reductions(3, *op, {1, 1009, 20'011});
        test::run_over_each(3, [&](communicator& world) { return test::rehearse(world, all); });
    }
}

TEST_CASE("an operator on elements of a size known at run time serves in calls of typed memory") { run_ranks(3, reduce_typed); }

TEST_CASE("elements of another size on one rank are a mismatch that names both sizes") {
    int told = 0;
    run_ranks(3, [&](communicator& world) { return disagree(world, told); });
    CHECK(told == 3);
}

TEST_CASE("elements that the operator is not made for are refused before anything is sent") {
    run_ranks(1, [](communicator& world) {
        return misuse(world, "operator 'addition' combines opaque(12 bytes), the elements are opaque(4 bytes)", true);
    });
    run_ranks(1, [](communicator& world) { return misuse(world, "the elements are not aligned for operator 'addition'", false); });
}

}  // namespace untyped_op_test
