// The list of members that rank 0 publishes, with the settings that all ranks must share.
#pragma once

#include "base/core_set.hpp"
#include "group/group.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// What rank 0 takes when the user does not say otherwise. `cores`: of rank 0's host, each of which some of its ranks may use.
void choose_settings(detail::membership& all, const detail::context_state& context, const core_set& cores);

/// For which join a list is: the call of rank 0, and by rank the ticket of the answer that it has read; 0 where there was none.
struct addressees {
    std::uint64_t call = 0;
    std::vector<std::uint32_t> tickets;
};

/// A line for whom it is, and one of settings, the last of them a tuning. Then for each rank the number of its host and its address.
std::string write_members(const addressees& to, const detail::membership& all);
/// In place of settings and members '!' and which ranks are late, or '?' and what went wrong.
std::string write_failure(const addressees& to, char kind, std::string_view text);

/// Takes the first line of a list. No tickets: it is none.
addressees read_addressees(std::string_view& text);
/// The rest of it. Throws what it says instead, and what is wrong with it.
void read_members(std::string_view text, detail::membership& into);

failure not_joined(const detail::membership& who, error code, std::string cause);
/// The ranks that did not come.
failure late_ranks(const detail::membership& all, std::vector<rank> late, std::string cause);

}  // namespace tutti
