#include "reducer/bucket.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace bucket_test {

using namespace tutti;

namespace {

struct shape {
    std::size_t count;
    data_type type = data_type::f32;
};

std::vector<parameter> parameters_of(const std::vector<shape>& shapes) {
    std::vector<parameter> all;
    for (const shape& each : shapes) all.emplace_back("p" + std::to_string(all.size()), each.count, each.type);
    return all;
}

using members = std::vector<std::vector<std::size_t>>;

members planned(const std::vector<shape>& shapes, std::vector<std::size_t> caps, reduce_op op = avg) {
    const auto parameters = parameters_of(shapes);
    members found;
    for (const bucket& each : plan_buckets(parameters, caps, op).buckets) found.push_back(each.parameters);
    return found;
}

constexpr auto f64 = data_type::f64;

}  // namespace

TEST_CASE("buckets hold parameters in reverse order up to their cap") {
    CHECK(planned({{10}, {10}, {10}, {10}, {10}}, {80}) == members{{4, 3}, {2, 1}, {0}});
    CHECK(planned({{10}, {10}, {11}, {10}}, {80}) == members{{3}, {2}, {1, 0}});
    CHECK(planned({}, {80}).empty());
}

TEST_CASE("the first bucket has a cap of its own, and so may the others") {
    CHECK(planned({{10}, {10}, {10}, {10}, {10}}, {40, 160}) == members{{4}, {3, 2, 1, 0}});
    CHECK(planned({{10}, {10}, {10}, {10}, {10}, {10}}, {40, 80, 40}) == members{{5}, {4, 3}, {2}, {1}, {0}});
}

TEST_CASE("a parameter larger than the cap is alone") {
    CHECK(planned({{1}, {1000}, {1}, {1}}, {80}) == members{{3, 2}, {1}, {0}});
    CHECK(planned({{1}, {1}, {1000}}, {80}) == members{{2}, {1, 0}});
}

TEST_CASE("a bucket has one type, and the bucket that can be complete first leaves first") {
    CHECK(planned({{4}, {2, f64}, {4}, {2, f64}, {4}}, {16}) == members{{4}, {3}, {2}, {1}, {0}});
    CHECK(planned({{4}, {2, f64}, {4}, {2, f64}, {4}}, {32}) == members{{4, 2}, {3, 1}, {0}});
    CHECK(planned({{4, f64}, {4}, {4}, {4, f64}}, {1000}) == members{{2, 1}, {3, 0}});
}

TEST_CASE("every type has a first bucket") {
    CHECK(planned({{4}, {4}, {4}, {2, f64}, {2, f64}, {2, f64}}, {16, 1000}) == members{{5}, {4, 3}, {2}, {1, 0}});
}

TEST_CASE("a parameter without elements takes no room") {
    CHECK(planned({{0}, {10}, {0}, {10}, {0}}, {40}) == members{{4, 3, 2}, {1, 0}});
}

TEST_CASE("places lie behind each other in their bucket") {
    const auto parameters = parameters_of({{3}, {2, f64}, {5}, {7}});
    const std::array<std::size_t, 1> caps{1000};
    const bucket_plan plan = plan_buckets(parameters, caps, avg);
    REQUIRE(plan.buckets.size() == 2);
    CHECK(plan.buckets[0].type == f64);
    CHECK(plan.buckets[0].bytes() == 16);
    CHECK(plan.buckets[1].count == 15);
    CHECK(plan.locations[3].first == 0);
    CHECK(plan.locations[2].first == 7);
    CHECK(plan.locations[0].first == 12);
    CHECK(plan.locations[0].bucket == 1);
    CHECK(plan.locations[1].bucket == 0);
}

TEST_CASE("a type has buckets where it has the operator") {
    CHECK(planned({{10, data_type::boolean}}, {80}, sum) == members{{0}});
    CHECK_THROWS_WITH_AS(planned({{10}, {10, data_type::boolean}}, {80}), "parameter 'p1' is of type bool, which has no avg", failure);
    CHECK_THROWS_WITH_AS(planned({{10, data_type::opaque}}, {80}, sum), "parameter 'p0' is of type opaque, which has no sum", failure);
}

TEST_CASE("what cannot be planned is refused") {
    CHECK_THROWS_WITH_AS(planned({{1}}, {}), "buckets need a cap", failure);
    const std::size_t half = std::numeric_limits<std::size_t>::max() / 16;
    CHECK_THROWS_WITH_AS(planned({{half}, {half}, {half}}, {80}), doctest::Contains("parameter 'p2' has more elements than memory can hold"), failure);
    const std::vector<parameter> many(reducer::parameter_limit + 1, parameter("", 0, data_type::f32));
    const std::array<std::size_t, 1> caps{80};
    CHECK_THROWS_WITH_AS(plan_buckets(many, caps, avg), doctest::Contains("the limit is 1048576"), failure);
}

TEST_CASE("a bucket's memory is aligned and begins as zeros") {
    const bucket_memory memory(1000);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0);
    for (std::size_t index = 0; index < 1000; ++index) REQUIRE(memory.data()[index] == std::byte{0});
}

}  // namespace bucket_test
