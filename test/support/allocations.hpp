// How often operator new has been called: a program that lists allocations.cpp replaces it. ThreadSanitizer does not allow that; there
// nothing is counted.
#pragma once

#include <cstddef>

namespace tutti::test {

/// By all threads of this program.
std::size_t allocations() noexcept;
/// By the calling thread.
std::size_t own_allocations() noexcept;

}  // namespace tutti::test
