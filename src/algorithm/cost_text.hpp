// The numbers of a cost_model as text, for the list of members, options and files.
#pragma once

#include <tutti/cost_model.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tutti {

/// Returns "round=8e-06,message=1e-06,..." with all numbers, in so many digits that `costs_in` reads the same doubles.
std::string to_string(const cost_model& costs);

/// Reads such a text. Numbers that are not named stay as in `base`. "tcp" or "shm" may come first and sets all numbers to these defaults. None when
/// a name is unknown or a value outside of its limits: 0 to 1e6 for seconds, 0 or at least 1 for `cores`.
std::optional<cost_model> costs_in(std::string_view text, cost_model base = {});

}  // namespace tutti
