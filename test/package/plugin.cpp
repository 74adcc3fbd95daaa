// A plugin that has Tutti inside, for a program that may have a copy of its own.
#include "tutti_works.hpp"

extern "C" [[gnu::visibility("default")]] bool plugin_works() { return tutti_works(); }
