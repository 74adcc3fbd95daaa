// Says in one line what compiler the headers need, before anything else is read; and what a program links with.
#pragma once

#if __cplusplus < 202002L || (defined(__clang__) ? __clang_major__ < 16 : __GNUC__ < 12)
#error "Tutti needs C++20 and a compiler that knows it well: g++ 12 or clang 16, or a later one, with -std=c++20"
#endif

/// A function that the library defines. Its namespace makes it visible to programs, too, but Clang looks at the namespace around the definition,
/// which says nothing of the kind.
#define TUTTI_API [[gnu::visibility("default")]]
