// The failures that each rank was told when something went wrong.
#pragma once

#include <tutti/error.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::test {

using failures = std::vector<std::optional<failure>>;

inline bool says(const failure& why, const std::string& part) { return std::string_view(why.what()).find(part) != std::string_view::npos; }

/// The failure of every rank, which must have one.
inline void check_each(const failures& all, error code, const std::string& part) {
    for (const auto& each : all) {
        REQUIRE(each);
        CHECK(each->code() == code);
        CAPTURE(std::string(each->what()));
        CHECK(says(*each, part));
    }
}

}  // namespace tutti::test
