// The variables of the environment that are Tutti's.
#pragma once

#include <tutti/context.hpp>

#include <string>
#include <vector>

namespace tutti {

/// A sentence for each variable of `entries`, as the C library has it, that begins like Tutti's and is none of them, with the one that was
/// probably meant.
std::vector<std::string> about_unknown_variables(const char* const* entries);

}  // namespace tutti
