#include <tutti/types.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

using tutti::bfloat16;
using tutti::float16;

// The oracle: of the two neighbours that the type can hold, the nearer one, and the one with an even last bit in a tie.
template <class Half>
static Half from_bits(unsigned bits) {
    Half half;
    half.bits = static_cast<std::uint16_t>(bits);
    return half;
}

// Value of a magnitude's bit pattern; infinity's pattern continues the series of finite values, so that it can be a neighbour.
template <class Half>
static double series(unsigned bits, unsigned infinity) {
    if (bits < infinity) return static_cast<float>(from_bits<Half>(bits));
    return 2.0 * static_cast<float>(from_bits<Half>(infinity - 1)) - static_cast<float>(from_bits<Half>(infinity - 2));
}

// The oracle: the nearer of the two neighbours that the type can hold; in a tie the one with an even last bit.
template <class Half>
static Half nearest(float value, unsigned infinity) {
    const double magnitude = std::fabs(static_cast<double>(value));
    unsigned low = 0, high = infinity;
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        (series<Half>(middle, infinity) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - series<Half>(low, infinity), above = series<Half>(high, infinity) - magnitude;
    const bool up = above < below || (above == below && (low & 1u) != 0);
    return from_bits<Half>((up ? high : low) | (std::signbit(value) ? 0x8000u : 0u));
}

template <class Half>
static void check_all(unsigned infinity) {
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const auto half = from_bits<Half>(bits);
        const float value = static_cast<float>(half);
        if ((bits & 0x7fffu) > infinity) {
            CHECK(std::isnan(value));
            CHECK((Half(value).bits & 0x7fffu) > infinity);
        } else {
            CHECK(Half(value).bits == bits);
        }
    }
}

template <class Half>
static void check_boundaries(unsigned infinity) {
    for (unsigned bits = 0; bits < infinity; ++bits) {
        const float low = static_cast<float>(from_bits<Half>(bits));
        const float middle = static_cast<float>((low + series<Half>(bits + 1, infinity)) / 2);
        for (float value : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, INFINITY)})
            for (float signed_value : {value, -value})
                if (std::isfinite(value)) CHECK(Half(signed_value) == nearest<Half>(signed_value, infinity));
    }
}

TEST_CASE("every float16 survives the way to float and back, and NaN stays NaN") { check_all<float16>(0x7c00); }
TEST_CASE("every bfloat16 survives the way to float and back, and NaN stays NaN") { check_all<bfloat16>(0x7f80); }
TEST_CASE("float16 rounds to nearest even at and beside every boundary") { check_boundaries<float16>(0x7c00); }
TEST_CASE("bfloat16 rounds to nearest even at and beside every boundary") { check_boundaries<bfloat16>(0x7f80); }

TEST_CASE("values beyond the largest become infinity, with their sign") {
    CHECK(float16(1e6f).bits == 0x7c00);
    CHECK(float16(-1e6f).bits == 0xfc00);
    CHECK(float16(INFINITY).bits == 0x7c00);
    CHECK(bfloat16(3.4e38f).bits == 0x7f80);
    CHECK(bfloat16(-INFINITY).bits == 0xff80);
}
