// Tests that cannot be tried on the machine that is there: they say why instead of passing.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tutti::test {

inline constexpr int exit_skipped = 77;

/// One for each test case that ended without having tried anything.
inline std::vector<std::string>& skipped() {
    static std::vector<std::string> all;
    return all;
}
inline void skip(std::string why) { skipped().push_back(std::move(why)); }

}  // namespace tutti::test
