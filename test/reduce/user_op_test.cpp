// Operators of users: what they are called with, and which do not compile.
#include <tutti/error.hpp>
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

/// The same where the type is not known before the program runs.
void mix_bytes(const void* left, void* inout, std::size_t count) {
    const auto* from = static_cast<const std::uint8_t*>(left);
    auto* to = static_cast<std::uint8_t*>(inout);
    for (std::size_t index = 0; index < 3 * count; ++index) to[index] = mixed(from[index], to[index]);
}
const untyped_op by_bytes("mix", commutes::no, 3, 1, mix_bytes);

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
    for (const detail::user_op* op : {static_cast<const detail::user_op*>(&by_element), static_cast<const detail::user_op*>(&by_span),
                                      static_cast<const detail::user_op*>(&by_bytes)})
        for (const std::size_t count : {0u, 1u, 7u, 1365u, 1366u, 5000u}) {
            CAPTURE(count);
            const auto first = some(count, 1), second = some(count, 50);
            std::vector<triple> expected(count);
            for (std::size_t index = 0; index < count; ++index)
                for (std::size_t part = 0; part < 3; ++part) expected[index][part] = mixed(first[index][part], second[index][part]);
            auto apart = std::vector<triple>(count), onto_first = first, onto_second = second;
            op->combine(apart.data(), first.data(), second.data(), count);
            op->combine(onto_first.data(), onto_first.data(), second.data(), count);
            op->combine(onto_second.data(), first.data(), onto_second.data(), count);
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

TEST_CASE("an operator may combine elements that are longer than what it is given on the stack") {
    struct large {
        std::array<std::uint8_t, 5000> all;
    };
    const untyped_op last("last", commutes::no, sizeof(large), 1, [](const void*, void*, std::size_t count) { CHECK(count == 1); });
    const custom_op<large> last_of_spans("last", commutes::no,
                                         [](std::span<const large> left, std::span<large>) { CHECK(left.size() == 1); });
    std::vector<large> first(2), second(2);
    for (const detail::user_op* op : {static_cast<const detail::user_op*>(&last), static_cast<const detail::user_op*>(&last_of_spans)}) {
        for (auto& each : first) each.all.fill(1);
        for (auto& each : second) each.all.fill(2);
        op->combine(first.data(), first.data(), second.data(), 2);
        CHECK((first[0].all == second[0].all && first[1].all == second[1].all));
    }
}

TEST_CASE("an untyped operator is for one size or one type, and says what is wrong with it") {
    const auto none = [](const void*, void*, std::size_t) {};
    const std::array<std::byte, 4> identity{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    const untyped_op of_floats("keep", commutes::yes, data_type::f32, none, identity), of_twelve("keep", commutes::yes, 12, 4, none);
    CHECK((of_floats.type() == data_type::f32 && of_floats.element_bytes() == 4 && of_floats.alignment() == 4));
    CHECK(std::equal(of_floats.identity().begin(), of_floats.identity().end(), identity.begin(), identity.end()));
    CHECK((of_twelve.type() == data_type::opaque && of_twelve.element_bytes() == 12 && of_twelve.alignment() == 4));
    CHECK(of_twelve.identity().empty());
    CHECK(of_floats.digest() == of_twelve.digest());
    CHECK(untyped_op("", commutes::yes, data_type::cf64, none).alignment() == 8);
    static_assert(!std::convertible_to<untyped_op, reduction> && std::convertible_to<const untyped_op&, reduction>);
    const char* const size = "operator 'x' combines elements of 0 bytes; 1 byte to 4 GiB are expected";
    CHECK_THROWS_WITH_AS(untyped_op("x", commutes::yes, 0, 1, none), size, failure);
    CHECK_THROWS_AS(untyped_op("x", commutes::yes, 4 * GiB, 1, none), failure);
    const char* const alignment =
        "operator 'x' has an alignment of 8 bytes; a power of two up to 16 is expected that divides the 12 bytes of an element";
    CHECK_THROWS_WITH_AS(untyped_op("x", commutes::yes, 12, 8, none), alignment, failure);
    for (const std::size_t wrong : {0u, 3u, 32u}) CHECK_THROWS_AS(untyped_op("x", commutes::yes, 96, wrong, none), failure);
    CHECK_THROWS_WITH_AS(untyped_op("x", commutes::yes, data_type::opaque, none),
                         "operator 'x' is made for elements opaque, whose size is not known; give their bytes instead", failure);
    CHECK_THROWS_WITH_AS(untyped_op("x", commutes::yes, data_type::f32, nullptr), "operator 'x' has no function", failure);
    CHECK_THROWS_WITH_AS(untyped_op("x", commutes::yes, 3, 1, none, identity),
                         "operator 'x' has an identity of 4 bytes; 3 are expected, as of any element", failure);
    try {
        const untyped_op wrong("x", commutes::yes, 0, 1, none);
    } catch (const failure& why) {
        CHECK(why.code() == error::invalid_argument);
    }
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
