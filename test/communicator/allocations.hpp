// How often this program has called operator new; the tests of this floor replace it.
#pragma once

#include <cstddef>

namespace tutti::test {

std::size_t allocations() noexcept;

}  // namespace tutti::test
