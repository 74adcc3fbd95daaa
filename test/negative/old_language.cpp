// expect: Tutti needs C\+\+20 and a compiler that knows it well: g\+\+ 12 or clang 16, or a later one
// flags: -std=c++17
#include <tutti/types.hpp>
