// A tuning: the algorithms that were measured to be fastest on a kind of machine, as text for files, options and the list of members.
#pragma once

#include "algorithm/chooser.hpp"

#include <tutti/context_options.hpp>
#include <tutti/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// One choice of a tuning, for groups of `size` ranks on one host.
struct tuned {
    int size = 0;
    std::size_t from_bytes = 0;         // of the whole vector, up to the next choice of this collective and size
    const algorithm* choice = nullptr;  // or by_cost(kind)

    friend bool operator==(const tuned&, const tuned&) = default;
};

/// Returns a row named "auto" that has no builder. A chooser cannot use it, so there it chooses by cost.
const algorithm* by_cost(collective kind) noexcept;

/// Reads the lines of `text` for `transport`, which is tcp or shm. A line is for a collective and a number of ranks, for example "shm all_reduce
/// 4: 0 star, 65536 direct, 1048576 auto". '#' begins a comment, and ';' also ends a line. error::invalid_argument quotes the first wrong line,
/// also of the other transport. No line is for `automatic`, so that only looks for wrong lines.
result<std::vector<tuned>> tuning_in(std::string_view text, transport_kind transport);

/// Returns the ranges for the chooser of a group of `size` ranks; none if they are on several hosts, because tunings are measured on one.
std::vector<chooser::range> wanted_in(std::span<const tuned> all, int size, const host_map& hosts);

/// Reads a file; error::invalid_argument has the system's reason.
result<std::string> tuning_text(const std::string& path);

/// Returns text on one line that `tuning_in` reads.
std::string to_string(std::span<const tuned> all, transport_kind transport);

}  // namespace tutti
