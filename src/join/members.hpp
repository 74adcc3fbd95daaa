// The list of members that rank 0 publishes in the store, with the settings that all ranks must share. A text of lines, see
// write_members().
#pragma once

#include "base/core_set.hpp"
#include "group/group.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// Completes the settings at rank 0 where the user left them open. `cores`: the cores of rank 0's host that any of its ranks may use.
void choose_settings(detail::membership& all, const detail::context_state& context, const core_set& cores);

/// The join that a list is for: the call of rank 0 and, by rank, the ticket of the answer that rank 0 has read; 0 where it read none.
struct addressees {
    std::uint64_t call = 0;
    std::vector<std::uint32_t> tickets;
};

/// Writes a line of addressees, a line of settings whose last is a tuning, and for each rank a line with the number of its host and its
/// address.
std::string write_members(const addressees& to, const detail::membership& all);
/// Writes a line of addressees, then `kind` and a text: '!' and which ranks are late, or '?' and what went wrong.
std::string write_failure(const addressees& to, char kind, std::string_view text);

/// Takes the first line off a text. Without tickets in the result the text is no list.
addressees read_addressees(std::string_view& text);
/// Reads the remaining lines. Throws the failure that stands in their place, or error::protocol_error for a list of another version.
void read_members(std::string_view text, detail::membership& into);

failure not_joined(const detail::membership& who, error code, std::string cause);
/// Returns error::rendezvous_timeout with the ranks that did not come.
failure late_ranks(const detail::membership& all, std::vector<rank> late, std::string cause);

}  // namespace tutti
