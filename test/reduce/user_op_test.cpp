// Operators of users: what they are called with, and which do not compile.
#include <tutti/reduction.hpp>

#include "reduce/kernel.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

using namespace tutti;

namespace {

struct extreme {
    float value;
    std::int32_t index;
};

using triple = std::array<std::uint8_t, 3>;

/// left op inout = 2 left + inout mod 97: neither order nor aliasing goes unnoticed.
std::uint8_t mixed(std::uint8_t left, std::uint8_t right) { return static_cast<std::uint8_t>((2 * left + right) % 97); }
const custom_op<triple> by_element("mix", commutes::no, [](const triple& left, const triple& right) {
    return triple{mixed(left[0], right[0]), mixed(left[1], right[1]), mixed(left[2], right[2])};
});
const custom_op<triple> by_span("mix", commutes::no, [](std::span<const triple> left, std::span<triple> inout) {
    REQUIRE(left.size() == inout.size());
    for (std::size_t index = 0; index < left.size(); ++index)
        for (std::size_t part = 0; part < 3; ++part) inout[index][part] = mixed(left[index][part], inout[index][part]);
});

std::vector<triple> some(std::size_t count, int seed) {
    std::vector<triple> made(count);
    for (auto& each : made)
        for (auto& part : each) part = static_cast<std::uint8_t>((seed += 31) % 97);
    return made;
}

template <class T, class Op>
constexpr bool compiles = detail::combines<T, std::remove_cvref_t<Op>>;

}  // namespace

TEST_CASE("a user's operator keeps its operands apart, whichever of them is the target and whatever the length") {
    for (const custom_op<triple>* op : {&by_element, &by_span})
        for (const std::size_t count : {0u, 1u, 7u, 1365u, 1366u, 5000u}) {
            CAPTURE(count);
            const auto first = some(count, 1), second = some(count, 50);
            std::vector<triple> expected(count);
            for (std::size_t index = 0; index < count; ++index)
                for (std::size_t part = 0; part < 3; ++part) expected[index][part] = mixed(first[index][part], second[index][part]);
            auto apart = std::vector<triple>(count), onto_first = first, onto_second = second;
            combine(*op, data_type::opaque, apart.data(), first.data(), second.data(), count);
            combine(*op, data_type::opaque, onto_first.data(), onto_first.data(), second.data(), count);
            combine(*op, data_type::opaque, onto_second.data(), first.data(), onto_second.data(), count);
            CHECK(apart == expected);
            CHECK(onto_first == expected);
            CHECK(onto_second == expected);
        }
}

TEST_CASE("a user's operator knows its type, and its digest is that of name and order") {
    const custom_op<float> one("longest", commutes::yes, [](float a, float b) { return std::max(a, b); });
    const custom_op<float> same("longest", commutes::yes, [](float a, float b) { return std::min(a, b); });
    const custom_op<float> ordered("longest", commutes::no, [](float a, float b) { return std::max(a, b); });
    const custom_op<float> other("shortest", commutes::yes, [](float a, float b) { return std::max(a, b); });
    CHECK(one.digest() == same.digest());
    CHECK(one.digest() != ordered.digest());
    CHECK(one.digest() != other.digest());
    CHECK(one.type() == data_type::f32);
    CHECK(by_span.type() == data_type::opaque);
    CHECK(by_span.element_bytes() == 3);
    CHECK(reduction(ordered).ordered());
    CHECK_FALSE(reduction(one).ordered());
    CHECK_FALSE(reduction(sum).ordered());
}

TEST_CASE("what an operator throws comes out of combine") {
    const custom_op<float> thrower("thrower", commutes::yes, [](float, float) -> float { throw std::runtime_error("no"); });
    float a = 1, b = 2;
    CHECK_THROWS_AS(combine(thrower, data_type::f32, &a, &a, &b, 1), std::runtime_error);
}

TEST_CASE("an operator that is not defined for a type does not compile where both are known") {
    static_assert(compiles<float, decltype(sum)> && compiles<std::int16_t, decltype(band)> && compiles<bool, decltype(bxor)>);
    static_assert(compiles<std::complex<double>, decltype(avg)> && compiles<bfloat16, premul_sum>);
    static_assert(!compiles<float, decltype(band)> && !compiles<bool, decltype(avg)> && !compiles<std::int32_t, premul_sum>);
    static_assert(!compiles<std::complex<float>, decltype(min)> && !compiles<extreme, decltype(sum)> && !compiles<extreme, reduce_op>);
    static_assert(compiles<extreme, custom_op<extreme>> && !compiles<float, custom_op<extreme>>);
    static_assert(detail::has_prefixes<std::remove_const_t<decltype(sum)>> && !detail::has_prefixes<std::remove_const_t<decltype(avg)>>);
    // It would be gone before the operation ends.
    static_assert(std::convertible_to<const custom_op<extreme>&, reduction> && !std::convertible_to<custom_op<extreme>, reduction>);
    // Addresses mean nothing elsewhere, and neither do objects with a life of their own.
    static_assert(transferable<extreme> && transferable<triple> && !transferable<int*> && !transferable<std::vector<int>>);
    static_assert(!transferable<std::span<int>> && !transferable<const std::string_view> && !transferable<buffer> &&
                  !transferable<const_buffer> && !transferable<std::reference_wrapper<int>> && !transferable<std::coroutine_handle<>>);
    static_assert(std::is_convertible_v<std::span<int, 3>, buffer> && std::is_convertible_v<std::span<const int, 3>, const_buffer> &&
                  !std::is_convertible_v<std::span<const int, 3>, buffer>);
    const custom_op<int> generic("sum", commutes::yes, [](auto a, auto b) { return a + b; });
    const int first[] = {1, 2}, second[] = {10, 20};
    int sums[2] = {};
    generic.combine(sums, first, second, 2);
    CHECK((sums[0] == 11 && sums[1] == 22));
    static_assert(type_of<bool> == data_type::boolean && type_of<char> != data_type::opaque && type_of<extreme> == data_type::opaque);
}

TEST_CASE("the table of types and operators") {
    for (int type = 0; type < data_type_count; ++type) {
        std::string all;
        for (int op = 0; op < reduce_op_count; ++op)
            if (defined(static_cast<reduce_op>(op), static_cast<data_type>(type)))
                all += std::string(name(static_cast<reduce_op>(op))) + " ";
        const auto which = static_cast<data_type>(type);
        CAPTURE(name(which));
        CHECK(all == (is_floating(which)            ? "sum prod min max avg premul "
                      : is_integer(which)           ? "sum prod min max avg band bor bxor "
                      : which == data_type::boolean ? "sum prod min max band bor bxor "
                      : is_complex(which)           ? "sum prod avg premul "
                                                    : ""));
    }
}
