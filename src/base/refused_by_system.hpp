#pragma once
#include <tutti/error.hpp>

#include <cerrno>
#include <system_error>

namespace tutti {

/// What a call of the system just said no to, and why: by errno.
inline failure refused_by_system(std::string_view what) {
    std::string text(what);
    return failure(error::system, text.append(": ").append(std::system_category().message(errno)));
}

}  // namespace tutti
