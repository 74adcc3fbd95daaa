// expect: Tutti needs C\+\+20 and a compiler that knows it well: g\+\+ 12 or clang 16, or a later one
#ifndef RIGHT
#undef __GNUC__
#define __GNUC__ 11
#undef __clang_major__
#define __clang_major__ 15
#endif
#include <tutti/detail/compiler.hpp>
