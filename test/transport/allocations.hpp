// How often this program has allocated so far: this floor's tests replace operator new, except under the thread sanitizer.
#pragma once

#include <cstddef>

namespace tutti::test {

std::size_t allocations() noexcept;

}  // namespace tutti::test
