// Word of a rank that will not join any more. It is a key of the store that rank 0 keeps, which all ranks wait for while they join: a rank that
// lacks what it needs to join sets it for itself.
#pragma once

#include <tutti/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tutti {

inline constexpr auto dropout_key = "dropout";

/// What travels of a report: code, root, peers and cause.
std::string write_dropout(const report& why);
/// None: nothing that a correct rank writes.
std::optional<report> read_dropout(std::string_view text);

}  // namespace tutti
