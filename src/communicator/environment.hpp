// The environment variables of Tutti.
#pragma once

#include <tutti/context.hpp>

#include <string>
#include <vector>

namespace tutti {

/// Returns a sentence for each variable in `entries` (as in `environ`) that begins with TUTTI_ and is unknown, with the variable that was
/// probably meant.
std::vector<std::string> about_unknown_variables(const char* const* entries);

}  // namespace tutti
