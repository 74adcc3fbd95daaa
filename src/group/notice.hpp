// Notices: sentences for people about things that are no failure.
#pragma once

#include <tutti/context_options.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace tutti {

inline void to_standard_error(const std::string& sentence) { std::fputs(fmt::format("tutti: {}\n", sentence).c_str(), stderr); }

/// Returns the function that takes notices: that of the options, or standard error.
inline auto* told_by(const context_options& options) noexcept { return options.notice ? options.notice : &to_standard_error; }

}  // namespace tutti
