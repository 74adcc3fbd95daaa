#include <tutti/version.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

TEST_CASE("the version is that of the project, as text and as numbers") {
    CHECK(tutti::version == PROJECT_VERSION);
    CHECK(tutti::version == fmt::format("{}.{}.{}", TUTTI_VERSION_MAJOR, TUTTI_VERSION_MINOR, TUTTI_VERSION_PATCH));
}
