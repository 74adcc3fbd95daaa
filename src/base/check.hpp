// TUTTI_CHECK states an invariant of the library's own code. It stays on in release builds. A mistake of a user is a `failure` instead.
#pragma once

namespace tutti::detail {
[[noreturn]] void check_failed(const char* condition, const char* text, const char* file, int line) noexcept;
}

#define TUTTI_CHECK(condition, text) \
    (static_cast<bool>(condition) ? void() : ::tutti::detail::check_failed(#condition, text, __FILE__, __LINE__))
