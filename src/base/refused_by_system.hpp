#pragma once

#include "base/descriptors.hpp"

#include <tutti/error.hpp>

#include <cerrno>
#include <system_error>

namespace tutti {

/// Returns the failure of a system call, by errno. The code is error::system, or that of the lack of descriptors; a caller that knows its
/// rank makes that error::system.
inline failure refused_by_system(std::string_view what) {
    const std::error_code code(errno, std::system_category());
    report why;
    why.code = out_of_descriptors(code) ? code : make_error_code(error::system);
    why.cause = std::string(what).append(": ").append(code.message());
    return failure(std::move(why));
}

}  // namespace tutti
