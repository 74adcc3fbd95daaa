// Sentences for people about what is no failure.
#pragma once

#include <tutti/context_options.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace tutti {

inline void to_standard_error(const std::string& sentence) { std::fputs(fmt::format("tutti: {}\n", sentence).c_str(), stderr); }

/// What hears them: the option's function, or standard error.
inline auto* told_by(const context_options& options) noexcept { return options.notice ? options.notice : &to_standard_error; }

}  // namespace tutti
