// The complaints of a reducer when something is wrong with the marks, and who gets them.
#include "reducer/gradient_marks.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace gradient_marks_test {

using namespace tutti;

TEST_CASE("who is to end the communicator for a complaint may ask what it is") {
    const std::vector<parameter> parameters{{"layer", 4, data_type::f32}};
    const bucket_plan plan = plan_buckets(parameters, caps_of(reducer_options()), avg);
    const gradient_marks* asked = nullptr;
    std::string reason;
    std::optional<failure> told;
    const auto end = [&](std::string why) {
        reason = std::move(why);
        try {
            asked->check();
        } catch (const failure& complaint) {
            told = complaint;
        }
    };
    gradient_marks all({"world", 0, end}, parameters, plan);
    asked = &all;
    CHECK(all.set(3, gradient_marks::mark::ready) == gradient_marks::consequence::refused);
    CHECK(reason == "reducer step #1: there is no parameter 3, only 1");
    REQUIRE(told);
    CHECK(told->code() == error::invalid_argument);
    CHECK(told->details().cause == "there is no parameter 3, only 1");
}

}  // namespace gradient_marks_test
