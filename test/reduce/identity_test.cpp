#include "reduce/identity.hpp"

#include "reduce/scalar.hpp"
#include "samples.hpp"

#include <doctest/doctest.h>

using namespace tutti;

namespace {

template <class T>
std::vector<T> values_of() {
    const float infinity = std::numeric_limits<float>::infinity();
    if constexpr (std::same_as<T, truth>) return {{0}, {1}};
    else if constexpr (std::integral<T>) return {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), T(0), T(1), T(77)};
    else if constexpr (is_complex(data_type_of<T>)) return {T(0), T(1, -1), T(-77, 0.5f)};
    else return {T(infinity), T(-infinity), T(0.0f), T(1.0f), T(-77.0f), T(0.5f)};
}

/// Of finite complex numbers and of truths as equal as they can be.
template <class T>
bool equal(const T& one, const T& other) {
    if constexpr (std::same_as<T, truth>) return one.byte == other.byte;
    else if constexpr (requires { one.bits; }) return static_cast<float>(one) == static_cast<float>(other);
    else return one == other;
}

/// Of how many values the identity, combined with them on either side, makes others.
template <class T>
int changed(reduce_op op, const std::vector<T>& values) {
    constexpr data_type type = data_type_of<T>;
    std::vector<T> identity(values.size()), left(values.size()), right(values.size());
    fill_identity(op, type, identity.data(), identity.size());
    combine_scalar(op, type, left.data(), identity.data(), values.data(), values.size());
    combine_scalar(op, type, right.data(), values.data(), identity.data(), values.size());
    int found = 0;
    for (std::size_t index = 0; index < values.size(); ++index)
        if (!equal(left[index], values[index]) || !equal(right[index], values[index])) ++found;
    return found;
}

}  // namespace

TEST_CASE("combining with the identity changes no value, infinities and the ends of integers included") {
    int pairs = 0;
    for (const data_type type : test::all_types)
        for (const reduce_op op : test::all_ops) {
            if (!defined(op, type)) continue;
            CAPTURE(name(type));
            CAPTURE(name(op));
            visit(type, [&]<class T> { CHECK(changed<T>(op, values_of<T>()) == 0); });
            ++pairs;
        }
    CHECK(pairs > 80);
}

TEST_CASE("an operator of the user's has the identity it was given, and without one memory is left alone") {
    float none[] = {5, 6, 7};
    fill_identity(reduce_op::custom, data_type::f32, none, 3);
    const auto longer = [](float a, float b) { return a > b ? a : b; };
    const custom_op<float> longest("longest", commutes::yes, longer), known("longest", commutes::yes, longer, -1.f);
    fill_identity(longest, data_type::f32, none, 3);
    CHECK((none[0] == 5 && none[1] == 6 && none[2] == 7));
    fill_identity(known, data_type::f32, none, 2);
    CHECK((none[0] == -1 && none[1] == -1 && none[2] == 7));
    fill_identity(known, data_type::f32, nullptr, 0);
}
