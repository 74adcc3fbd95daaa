#include "reduce/scalar.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>

using namespace tutti;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

template <class T>
void check_wrap() {
    using limits = std::numeric_limits<T>;
    CHECK(combine_one<sum>(limits::max(), T(1)) == limits::min());
    if constexpr (limits::is_signed) CHECK(combine_one<sum>(limits::min(), static_cast<T>(-1)) == limits::max());
    CHECK(combine_one<prod>(limits::max(), limits::max()) == T(1));
    CHECK(combine_one<prod>(limits::max(), T(2)) == static_cast<T>(-2));
    CHECK(combine_one<min>(limits::max(), limits::min()) == limits::min());
    CHECK(combine_one<max>(limits::max(), limits::min()) == limits::max());
    CHECK(combine_one<avg>(T(3), T(4)) == T(7));
}

}  // namespace

TEST_CASE("integer sums and products wrap") {
    check_wrap<std::int8_t>();
    check_wrap<std::uint8_t>();
    check_wrap<std::int16_t>();
    check_wrap<std::uint16_t>();
    check_wrap<std::int32_t>();
    check_wrap<std::uint32_t>();
    check_wrap<std::int64_t>();
    check_wrap<std::uint64_t>();
    CHECK(combine_one<prod>(std::int8_t{-128}, std::int8_t{-128}) == 0);
    CHECK(combine_one<prod>(std::int8_t{100}, std::int8_t{3}) == 44);
    CHECK(combine_one<prod>(std::uint16_t{65535}, std::uint16_t{65535}) == 1);
    CHECK(combine_one<prod>(std::uint8_t{255}, std::uint8_t{3}) == 253);
    CHECK(combine_one<prod>(std::int64_t{1} << 62, std::int64_t{6}) == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("integers divide towards zero") {
    CHECK(divide_one(std::int8_t{-7}, 2) == -3);
    CHECK(divide_one(std::int8_t{-128}, 1000) == 0);
    CHECK(divide_one(std::uint8_t{255}, 2) == 127);
    CHECK(divide_one(std::int32_t{-7}, 3) == -2);
    CHECK(divide_one(std::uint32_t{4000000000}, 3) == 1333333333);
    CHECK(divide_one(std::int64_t{-9000000000000000001}, 2) == -4500000000000000000);
    CHECK(divide_one(std::uint64_t{18000000000000000001u}, 2) == 9000000000000000000u);
}

TEST_CASE("the average of integers is the wrapped sum, divided") {
    const auto total = combine_one<avg>(std::int8_t{100}, std::int8_t{100});
    CHECK(divide_one(total, 2) == -28);
}

TEST_CASE("min and max order zeros by sign and hand NaN on") {
    struct {
        float first, second, smaller, larger;
    } const rows[] = {
        {0.0f, -0.0f, -0.0f, 0.0f},
        {-0.0f, 0.0f, -0.0f, 0.0f},
        {0.0f, 0.0f, 0.0f, 0.0f},
        {-0.0f, -0.0f, -0.0f, -0.0f},
        {1.0f, 2.0f, 1.0f, 2.0f},
        {-infinity, infinity, -infinity, infinity},
        {quiet_nan, 1.0f, quiet_nan, quiet_nan},
        {-infinity, -quiet_nan, quiet_nan, quiet_nan},
    };
    for (const auto& row : rows) {
        CAPTURE(row.first);
        CAPTURE(row.second);
        CHECK(bits(combine_one<min>(row.first, row.second)) == bits(row.smaller));
        CHECK(bits(combine_one<max>(row.first, row.second)) == bits(row.larger));
        CHECK(bits(combine_one<min>(double{row.first}, double{row.second})) == bits(double{row.smaller}));
        CHECK(float16(row.smaller) == combine_one<min>(float16(row.first), float16(row.second)));
        CHECK(bfloat16(row.larger) == combine_one<max>(bfloat16(row.first), bfloat16(row.second)));
    }
}

TEST_CASE("a NaN that arithmetic makes is the canonical one") {
    CHECK(bits(combine_one<sum>(infinity, -infinity)) == 0x7fc00000u);
    CHECK(bits(combine_one<prod>(infinity, 0.0f)) == 0x7fc00000u);
    CHECK(bits(divide_one(-quiet_nan, 3)) == 0x7fc00000u);
    CHECK(bits(combine_one<sum>(double{infinity}, -double{infinity})) == 0x7ff8000000000000u);
    CHECK(combine_one<sum>(float16(infinity), float16(-infinity)).bits == 0x7e00);
    CHECK(combine_one<prod>(bfloat16(infinity), bfloat16(0.0f)).bits == 0x7fc0);
    CHECK(divide_one(bfloat16(-quiet_nan), 3).bits == 0x7fc0);
}

TEST_CASE("halves are rounded once per operation, to nearest even") {
    CHECK(combine_one<sum>(float16(2048.0f), float16(1.0f)) == float16(2048.0f));
    CHECK(combine_one<sum>(float16(2050.0f), float16(1.0f)) == float16(2052.0f));
    CHECK(combine_one<sum>(float16(65504.0f), float16(16.0f)).bits == 0x7c00);
    CHECK(combine_one<sum>(float16(65504.0f), float16(15.0f)) == float16(65504.0f));
    CHECK(combine_one<sum>(bfloat16(256.0f), bfloat16(1.0f)) == bfloat16(256.0f));
    CHECK(combine_one<sum>(bfloat16(258.0f), bfloat16(1.0f)) == bfloat16(260.0f));
    CHECK(static_cast<float>(divide_one(float16(1.0f), 3)) == 0x1.554p-2f);
    CHECK(static_cast<float>(divide_one(bfloat16(1.0f), 3)) == 0x1.56p-2f);
}

TEST_CASE("bits of integers are combined one by one") {
    CHECK(combine_one<band>(std::uint8_t{0b1100}, std::uint8_t{0b1010}) == 0b1000);
    CHECK(combine_one<bor>(std::int16_t{0b1100}, std::int16_t{0b1010}) == 0b1110);
    CHECK(combine_one<bxor>(std::int64_t{-1}, std::int64_t{0b1010}) == ~std::int64_t{0b1010});
}

TEST_CASE("sum, max and bor of bool are or; prod, min and band are and; what is not 0 is true") {
    for (const std::uint8_t first : std::initializer_list<std::uint8_t>{0, 1, 2, 255})
        for (const std::uint8_t second : std::initializer_list<std::uint8_t>{0, 1, 128}) {
            const truth a{first}, b{second};
            const int either = first != 0 || second != 0, both = first != 0 && second != 0, one = (first != 0) != (second != 0);
            CHECK(combine_one<sum>(a, b).byte == either);
            CHECK(combine_one<max>(a, b).byte == either);
            CHECK(combine_one<bor>(a, b).byte == either);
            CHECK(combine_one<prod>(a, b).byte == both);
            CHECK(combine_one<min>(a, b).byte == both);
            CHECK(combine_one<band>(a, b).byte == both);
            CHECK(combine_one<bxor>(a, b).byte == one);
        }
}

TEST_CASE("complex numbers add, multiply, divide and scale part by part") {
    using complex = std::complex<float>;
    const complex a(1, 2), b(3, -5);
    CHECK(combine_one<sum>(a, b) == complex(4, -3));
    CHECK(combine_one<prod>(a, b) == complex(13, 1));
    CHECK(divide_one(b, 2) == complex(1.5f, -2.5f));
    CHECK(scale_one(b, 0.5) == complex(1.5f, -2.5f));
    // Written out, not repaired: infinity times i has a NaN.
    const complex product = combine_one<prod>(complex(infinity, 0), complex(0, 1));
    CHECK(bits(product.real()) == 0x7fc00000u);
    CHECK(product.imag() == infinity);
}

TEST_CASE("a factor is rounded to the type that multiplies, and the product once") {
    CHECK(scale_one(3.0f, 0.1) == 3.0f * 0.1f);
    CHECK(scale_one(3.0, 0.1) == 3.0 * 0.1);
    CHECK(scale_one(float16(3.0f), 0.1) == float16(3.0f * 0.1f));
    CHECK(scale_one(bfloat16(3.0f), 0.1) == bfloat16(3.0f * 0.1f));
    CHECK(scale_one(1.0f, 1e300) == infinity);
    CHECK(bits(scale_one(0.0f, 1e300)) == 0x7fc00000u);
}
