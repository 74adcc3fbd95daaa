// The report of a rank that will not join any more: a key of the store, for which all ranks wait while they join. The rank that keeps the
// store sets it for a rank whose connection has ended without a goodbye. A rank that fails to join sets it for itself.
#pragma once

#include <tutti/result.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace tutti {

inline constexpr auto dropout_key = "dropout";

/// Writes the parts of a report that travel: code, root, peers and cause.
std::string write_dropout(const report& why);
/// Returns nothing for a text that no correct rank writes.
std::optional<report> read_dropout(std::string_view text);

}  // namespace tutti
