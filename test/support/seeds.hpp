// How many seeds tests of random programs try.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tutti::test {

/// TUTTI_SEEDS, or else so many.
inline std::uint64_t seeds(std::uint64_t otherwise) {
    const char* const more = std::getenv("TUTTI_SEEDS");
    return more ? std::strtoull(more, nullptr, 10) : otherwise;
}

}  // namespace tutti::test
