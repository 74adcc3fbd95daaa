#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace tutti::detail {

void check_failed(const char* condition, const char* text, const char* file, int line) noexcept {
    std::fprintf(stderr, "tutti: %s:%d: %s (%s is false)\n", file, line, text, condition);
    std::abort();
}

}  // namespace tutti::detail
