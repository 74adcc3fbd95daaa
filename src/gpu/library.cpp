#include "gpu/library.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <string_view>

namespace tutti::gpu {
namespace {

// Binds all symbols at once, so that none is missing later, and locally, since the program may have another copy of the library.
constexpr int how = RTLD_NOW | RTLD_LOCAL;

std::string path_of(void* handle) {
    link_map* map = nullptr;
    if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
    return map->l_name;
}

failure not_loaded(std::string_view what) {
    const char* said = ::dlerror();
    return failure(error::unsupported, fmt::format("{} cannot be loaded: {}", what, said ? said : "the loader does not say why"));
}

}  // namespace

result<library> open_library(const char* variable, const char* soname) {
    const char* named = std::getenv(variable);
    if (named != nullptr && *named != '\0') {
        if (*named != '/')
            return failure(error::unsupported, fmt::format("{}={} is not used: it takes an absolute path of {}", variable, named, soname));
        void* handle = ::dlopen(named, how);
        if (handle == nullptr) return not_loaded(fmt::format("{}={}", variable, named));
        return library{handle, path_of(handle), variable};
    }
    if (void* handle = ::dlopen(soname, how | RTLD_NOLOAD))
        return library{handle, path_of(handle), "loaded before by another part of the program"};
    void* handle = ::dlopen(soname, how);
    if (handle == nullptr) return not_loaded(soname);
    return library{handle, path_of(handle), "found by the loader"};
}

void* symbol_in(const library& where, const char* name) noexcept { return ::dlsym(where.handle, name); }

}  // namespace tutti::gpu
