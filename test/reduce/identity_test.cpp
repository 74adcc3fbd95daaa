#include "reduce/identity.hpp"

#include "reduce/scalar.hpp"
#include "samples.hpp"

#include <doctest/doctest.h>

using namespace tutti;

namespace {

/// The identity combined with each of the values, on either side.
template <class T>
void check_identity(reduce_op op, const std::vector<T>& values) {
    std::vector<T> identity(values.size()), left(values.size()), right(values.size());
    fill_identity(op, type_of<T>, identity.data(), identity.size());
    combine_scalar(op, type_of<T>, left.data(), identity.data(), values.data(), values.size());
    combine_scalar(op, type_of<T>, right.data(), values.data(), identity.data(), values.size());
    for (std::size_t index = 0; index < values.size(); ++index) {
        CHECK(static_cast<double>(static_cast<float>(left[index])) == static_cast<double>(static_cast<float>(values[index])));
        CHECK(static_cast<double>(static_cast<float>(right[index])) == static_cast<double>(static_cast<float>(values[index])));
    }
}

}  // namespace

TEST_CASE("combining with the identity changes no value, infinities and the ends of integers included") {
    for (const data_type type : test::all_types)
        for (const reduce_op op : test::all_ops) {
            CAPTURE(name(type));
            CAPTURE(name(op));
            visit(type, [&]<class T> {
                if constexpr (std::integral<T>) {
                    check_identity<T>(op, {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), T(0), T(1), T(77)});
                } else {
                    const float infinity = std::numeric_limits<float>::infinity();
                    check_identity<T>(op, {T(infinity), T(-infinity), T(0.0f), T(1.0f), T(-77.0f), T(0.5f)});
                }
            });
        }
}
