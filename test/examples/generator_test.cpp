#include "digits/generator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <numeric>

using digits::generator;

TEST_CASE("the generator is SplitMix64") {
    generator numbers(0);
    // The published generator seeded with its own first output for 0 would go on so; computed independently.
    constexpr std::uint64_t gamma = 0x9e3779b97f4a7c15U;
    std::uint64_t state = 0xe220a8397b1dcdafU;  // SplitMix64's well-known first output for seed 0
    for (int i = 0; i < 3; ++i) {
        std::uint64_t expected = state += gamma;
        expected = (expected ^ (expected >> 30)) * 0xbf58476d1ce4e5b9U;
        expected = (expected ^ (expected >> 27)) * 0x94d049bb133111ebU;
        CHECK(numbers.next() == (expected ^ (expected >> 31)));
    }
}

TEST_CASE("numbers below a bound are all reached and never exceeded") {
    generator numbers(7);
    std::array<int, 10> seen{};
    for (int i = 0; i < 10'000; ++i) {
        const auto value = numbers.below(seen.size());
        REQUIRE(value < seen.size());
        ++seen[value];
    }
    for (const int count : seen) CHECK(std::abs(count - 1000) < 150);
    CHECK(numbers.below(1) == 0);
}

TEST_CASE("numbers within a limit fill both sides of zero") {
    generator numbers(3);
    double sum = 0;
    float lowest = 1;
    float highest = -1;
    for (int i = 0; i < 10'000; ++i) {
        const float value = numbers.within(0.5F);
        sum += value;
        lowest = std::min(lowest, value);
        highest = std::max(highest, value);
    }
    CHECK(lowest >= -0.5F);
    CHECK(lowest < -0.49F);
    CHECK(highest <= 0.5F);
    CHECK(highest > 0.49F);
    CHECK(std::abs(sum / 10'000) < 0.01);
}

TEST_CASE("a shuffle is a permutation that depends on seed and stream, and on nothing else") {
    const auto shuffled = [](std::uint64_t seed, std::uint64_t stream) {
        std::array<int, 100> values{};
        std::iota(values.begin(), values.end(), 0);
        generator(seed, stream).shuffle(std::span<int>(values));
        return values;
    };
    CHECK(shuffled(1, 2) == shuffled(1, 2));
    CHECK(shuffled(1, 2) != shuffled(1, 3));
    CHECK(shuffled(1, 2) != shuffled(2, 2));
    auto values = shuffled(1, 2);
    std::sort(values.begin(), values.end());
    for (int i = 0; i < 100; ++i) CHECK(values[static_cast<std::size_t>(i)] == i);
}
