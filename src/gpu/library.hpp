// A shared library that is looked for while the program runs. It is never given back: it may have threads and state of its own.
#pragma once

#include <tutti/result.hpp>

#include <string>

namespace tutti::gpu {

struct library {
    void* handle = nullptr;
    std::string path;    // of its file
    std::string origin;  // how it was found
};

/// By the environment's `variable`, an absolute path, when that is set; else by `soname`, which another part of the program may have loaded
/// before. error::unsupported, with the loader's words, when there is none.
result<library> open_library(const char* variable, const char* soname);

/// Null when there is none.
void* symbol_in(const library& where, const char* name) noexcept;

}  // namespace tutti::gpu
