// Which seeds tests of random programs try, and how many.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace tutti::test {

/// TUTTI_TEST_SEEDS, or else so many.
inline std::uint64_t seeds(std::uint64_t otherwise) {
    const char* const more = std::getenv("TUTTI_TEST_SEEDS");
    return more ? std::strtoull(more, nullptr, 10) : otherwise;
}

/// TUTTI_TEST_SEED, as a failed check has told it, or else another one each time.
inline std::uint64_t any_seed() {
    const char* const again = std::getenv("TUTTI_TEST_SEED");
    return again ? std::strtoull(again, nullptr, 10) : std::random_device{}();
}

}  // namespace tutti::test
