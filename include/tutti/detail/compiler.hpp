// Says in one line what compiler the headers need, before anything else is read.
#pragma once

#if __cplusplus < 202002L || (defined(__clang__) ? __clang_major__ < 16 : __GNUC__ < 12)
#error "Tutti needs C++20 and a compiler that knows it well: g++ 12 or clang 16, or a later one, with -std=c++20"
#endif
