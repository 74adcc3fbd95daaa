// The numbers of a cost_model as text, for the list of members, for options and for files.
#pragma once

#include <tutti/cost_model.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tutti {

/// "round=8e-06,message=1e-06,..." with all of them, so exact that `costs_in` gives the very same.
std::string to_string(const cost_model& costs);

/// The same back. What is not named stays as in `base`; "tcp" and "shm" stand for all numbers of these defaults, and further ones may follow.
/// None when a name is unknown, or a value no finite number from 0 on.
std::optional<cost_model> costs_in(std::string_view text, cost_model base = {});

}  // namespace tutti
