// Word of a rank that will not join any more. It is a key of the store, which all ranks wait for while they join: the rank that keeps the
// store sets it for one whose connection has ended without a goodbye, and a rank that fails to join sets it for itself.
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
