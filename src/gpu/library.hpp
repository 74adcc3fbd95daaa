// A shared library that is loaded while the program runs. It is never unloaded, because it may have threads and state of its own.
#pragma once

#include <tutti/result.hpp>

#include <string>

namespace tutti::gpu {

struct library {
    void* handle = nullptr;
    std::string path;    // of its file
    std::string origin;  // how it was found
};

/// Opens the absolute path in the environment's `variable` if that is set; else `soname`, of which another part of the program may have loaded a copy.
/// error::unsupported has the loader's message.
result<library> open_library(const char* variable, const char* soname);

/// Returns a symbol; null when there is none.
void* symbol_in(const library& where, const char* name) noexcept;

}  // namespace tutti::gpu
