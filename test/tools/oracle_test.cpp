#include "oracle.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace perf;
using namespace tutti;

TEST_CASE("reductions of small numbers are those that one works out by hand") {
    constexpr std::array numbers{1, 2, 2};
    CHECK(combined<float>(reduce_op::sum, 0, numbers) == 5);
    CHECK(combined<double>(reduce_op::prod, 0, numbers) == 4);
    CHECK(combined<float>(reduce_op::avg, 0, numbers) == 5.0F / 3.0F);
    CHECK(combined<std::int8_t>(reduce_op::avg, 0, numbers) == 1);
    CHECK(combined<std::uint16_t>(reduce_op::bxor, 0, numbers) == 1);
    CHECK(combined<std::int16_t>(reduce_op::bor, 0, numbers) == 3);
    CHECK(combined<std::int64_t>(reduce_op::band, 0, numbers) == 0);
    CHECK(combined<float>(reduce_op::premul, 0, numbers) == 1 * 2 + 2 * 0.5F + 2 * 2);
    CHECK(combined<float>(reduce_op::premul, 1, numbers) == 1 * 0.5F + 2 * 2 + 2 * 0.5F);
    CHECK(combined<std::complex<float>>(reduce_op::sum, 0, numbers) == std::complex<float>(1, 4));
    CHECK(combined<std::complex<double>>(reduce_op::prod, 0, numbers) == std::complex<double>(-4, 0));
    CHECK(combined<truth>(reduce_op::sum, 0, numbers).byte == 1);
    CHECK(combined<truth>(reduce_op::prod, 0, numbers).byte == 0);
    CHECK(combined<truth>(reduce_op::bxor, 0, numbers).byte == 1);
}

TEST_CASE("integers wrap, and halves round once") {
    constexpr std::array large{96, 96, 96};
    CHECK(combined<std::int8_t>(reduce_op::sum, 0, large) == 32);
    CHECK(combined<std::uint8_t>(reduce_op::sum, 0, large) == 32);
    constexpr std::array thirds{1, 1, 2};
    CHECK(combined<float16>(reduce_op::avg, 0, thirds) == float16(4.0F / 3.0F));
}

TEST_CASE("of nobody there is what changes nothing") {
    CHECK(combined<float>(reduce_op::min, 0, {}) == std::numeric_limits<float>::infinity());
    CHECK(combined<bfloat16>(reduce_op::max, 0, {}) == bfloat16(-std::numeric_limits<float>::infinity()));
    CHECK(combined<std::int8_t>(reduce_op::max, 0, {}) == -128);
    CHECK(combined<std::uint32_t>(reduce_op::band, 0, {}) == 0xffffffff);
    CHECK(combined<std::complex<float>>(reduce_op::prod, 0, {}) == std::complex<float>(1, 0));
    CHECK(combined<truth>(reduce_op::band, 0, {}).byte == 1);
    CHECK(combined<truth>(reduce_op::bor, 0, {}).byte == 0);
}
