// Checks the compiler before any other header is read, and marks the functions that the library exports.
#pragma once

#if __cplusplus < 202002L || (defined(__clang__) ? __clang_major__ < 16 : __GNUC__ < 12)
#error "Tutti needs C++20 and a compiler that knows it well: g++ 12 or clang 16, or a later one, with -std=c++20"
#endif

/// Marks a function that the library defines. GCC takes the visibility from the namespace in the header; Clang takes it from the namespace
/// around the definition, which has none.
#define TUTTI_API [[gnu::visibility("default")]]
