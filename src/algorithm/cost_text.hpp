// The numbers of a cost_model as text, for the list of members, for options and for files.
#pragma once

#include <tutti/cost_model.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tutti {

/// "round=8e-06,message=1e-06,..." with all of them, so exact that `costs_in` gives the very same.
std::string to_string(const cost_model& costs);

/// The same back. What is not named stays as in `base`; "tcp" or "shm" may come first, for all numbers of these
/// defaults. None when a name is unknown, or a value not between its limits: 0 and 1e6 for seconds, 0 and 1 for parts, 1 and 1e6 for `crowded`,
/// from 1 on, or 0, for `cores`.
std::optional<cost_model> costs_in(std::string_view text, cost_model base = {});

}  // namespace tutti
