#pragma once

#include "base/descriptors.hpp"

#include <tutti/error.hpp>

#include <cerrno>
#include <system_error>

namespace tutti {

/// What a call of the system just said no to, and why: by errno. The code is error::system, or that of the lack of descriptors, which those
/// who know this process's rank make error::system.
inline failure refused_by_system(std::string_view what) {
    const std::error_code code(errno, std::system_category());
    report why;
    why.code = out_of_descriptors(code) ? code : make_error_code(error::system);
    why.cause = std::string(what).append(": ").append(code.message());
    return failure(std::move(why));
}

}  // namespace tutti
