// The rules of docs/numerics.md for NaN, infinities, zeros and rounding, seen by a caller: the same bits on all ranks, by whatever algorithm.
#include "support/ranks.hpp"
#include "support/sanitizers.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

namespace numerics_test {

using namespace tutti;
using test::run_ranks;

namespace {

template <class T>
struct bits;
template <>
struct bits<float> {
    using type = std::uint32_t;
    static constexpr type nan = 0x7fc00000, odd_nan = 0xffa12345;  // quiet and positive; with a sign and a payload
};
template <>
struct bits<double> {
    using type = std::uint64_t;
    static constexpr type nan = 0x7ff8000000000000, odd_nan = 0xfff4000000001234;
};
template <>
struct bits<float16> {
    using type = std::uint16_t;
    static constexpr type nan = 0x7e00, odd_nan = 0xfd23;
};
template <>
struct bits<bfloat16> {
    using type = std::uint16_t;
    static constexpr type nan = 0x7fc0, odd_nan = 0xffa1;
};

template <class T>
auto bits_of(T value) {
    return std::bit_cast<typename bits<T>::type>(value);
}
template <class T>
T odd_nan() {
    return std::bit_cast<T>(bits<T>::odd_nan);
}
template <class T>
T number(double value) {
    return T(static_cast<float>(value));
}
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Small and large vectors, so that all ways to combine are taken.
constexpr std::size_t lengths[] = {1, 20'000};

/// The bits that every rank has for the first and the last element, when rank r brings `values[r]`.
template <class T>
task<> expect_bits(communicator& world, std::vector<T> values, reduction op, typename bits<T>::type expected) {
    for (const std::size_t length : lengths) {
        std::vector<T> data(length, values[static_cast<std::size_t>(world.rank())]);
        co_await world.all_reduce(data, op);
        CAPTURE(length);
        CAPTURE(name(op.kind()));
        CHECK(bits_of(data.front()) == expected);
        CHECK(bits_of(data.back()) == expected);
        std::vector<T> part(length), parts(length * static_cast<std::size_t>(world.size()), values[static_cast<std::size_t>(world.rank())]);
        co_await world.reduce_scatter(parts, part, op);
        CHECK(bits_of(part.front()) == expected);
        CHECK(bits_of(part.back()) == expected);
    }
}

/// `usual` on all ranks but `one`, which has `special`.
template <class T>
std::vector<T> but_one(int size, T usual, rank one, T special) {
    std::vector<T> all(static_cast<std::size_t>(size), usual);
    all[static_cast<std::size_t>(one)] = special;
    return all;
}

template <class T>
task<> bring_special_values(communicator& world) {
    const int size = world.size();
    const T minus = number<T>(-0.0), plus = number<T>(0.0), far = number<T>(infinity), deep = number<T>(-infinity);
    for (rank one = 0; one < size; ++one) {
        CAPTURE(one);
        const auto with_nan = but_one(size, number<T>(2), one, odd_nan<T>());
        for (const reduction op : {reduction(sum), reduction(prod), reduction(min), reduction(max), reduction(avg)})
            co_await expect_bits<T>(world, with_nan, op, bits<T>::nan);
        const auto all_far = but_one(size, number<T>(2), one, far), both = but_one(size, far, one, deep);
        co_await expect_bits<T>(world, all_far, sum, bits_of(far));
        co_await expect_bits<T>(world, both, sum, bits<T>::nan);
        const auto nothing = but_one(size, far, one, plus);
        co_await expect_bits<T>(world, nothing, prod, bits<T>::nan);
        const auto zeros = but_one(size, minus, one, plus), other_zeros = but_one(size, plus, one, minus);
        co_await expect_bits<T>(world, zeros, sum, bits_of(plus));
        co_await expect_bits<T>(world, zeros, max, bits_of(plus));
        co_await expect_bits<T>(world, other_zeros, min, bits_of(minus));
    }
    const std::vector<T> all_minus(static_cast<std::size_t>(size), minus);
    co_await expect_bits<T>(world, all_minus, sum, bits_of(minus));
    // Before rank 0 comes the identity, which is added to nothing.
    std::vector<T> before(3, minus);
    co_await world.exclusive_scan(before, sum);
    CHECK(bits_of(before[2]) == bits_of(world.rank() == 0 ? plus : minus));
}

template <class T>
task<> bring_alone(communicator& world) {
    for (const reduction op : {reduction(sum), reduction(prod), reduction(min), reduction(max)}) {
        std::vector<T> data(3, odd_nan<T>());
        co_await world.all_reduce(data, op);
        CHECK(bits_of(data[1]) == bits<T>::odd_nan);
    }
}

/// The examples of the page, on two ranks.
task<> bring_examples(communicator& world) {
    const bool first = world.rank() == 0;
    std::vector<std::int8_t> wrapped(2, 100);
    co_await world.all_reduce(wrapped, avg);
    CHECK(wrapped[0] == -28);
    std::vector<int> truncated(2, first ? -7 : 0);
    co_await world.all_reduce(truncated, avg);
    CHECK(truncated[0] == -3);
    std::vector<bfloat16> lost(2, bfloat16(first ? 256.0f : 1.0f));
    co_await world.all_reduce(lost, sum);
    CHECK(static_cast<float>(lost[0]) == 256);
    std::vector<float16> over(2, float16(60'000.0f));
    co_await world.all_reduce(over, avg);
    CHECK(std::isinf(static_cast<float>(over[0])));
    std::vector<float16> scaled(2, float16(60'000.0f));
    co_await world.all_reduce(scaled, premul_sum(0.5));
    CHECK(static_cast<float>(scaled[0]) == static_cast<float>(float16(60'000.0f)));
    std::vector<float> rounded(2, first ? 1.0f : 0.0f);  // the factor is first rounded to float
    co_await world.all_reduce(rounded, premul_sum(0.1));
    CHECK(rounded[0] == 0.1f);
    const std::complex<float> far(std::numeric_limits<float>::infinity(), 0);
    std::vector<std::complex<float>> product(2, first ? far : std::complex<float>(0, 1));
    co_await world.all_reduce(product, prod);
    CHECK(std::isnan(product[0].real()));
    CHECK(std::isinf(product[0].imag()));
}

task<> scale_by_zeros(communicator& world) {
    const std::vector<float> ones(3, 1.0f);
    std::vector<float> zeros(3);
    for (const double factor : {0.0, -0.0, 0.0}) {
        co_await world.all_reduce(ones, zeros, premul_sum(factor));
        CHECK(std::signbit(zeros[2]) == std::signbit(factor));
    }
}

context_options mode(bool deterministic) {
    context_options options;
    options.deterministic = deterministic;
    return options;
}

}  // namespace

TEST_CASE_TEMPLATE("NaN is never lost and always canonical, infinities and zeros are IEEE's, whoever brings them" *
                       doctest::skip(test::sanitizer_wants_threads),
                   T, float, double, float16, bfloat16) {
    for (const int size : {2, 3, 4, 5})
        for (const bool deterministic : {false, true}) {
            CAPTURE(size);
            CAPTURE(deterministic);
            run_ranks(size, bring_special_values<T>, mode(deterministic));
        }
}

TEST_CASE_TEMPLATE("one rank alone combines nothing and keeps every bit of a NaN", T, float, double, float16, bfloat16) {
    run_ranks(1, bring_alone<T>);
}

TEST_CASE("the examples of the numerics page are true") { run_ranks(2, bring_examples); }

TEST_CASE("a call like the last one, but for the sign of a zero, is another") { run_ranks(2, scale_by_zeros); }

}  // namespace numerics_test
