// Which algorithms were measured to be quickest on a kind of machine, as text: for files, options and the list of members.
#pragma once

#include "algorithm/chooser.hpp"

#include <tutti/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// For groups of so many ranks on one host.
struct tuned {
    int size = 0;
    std::size_t from_bytes = 0;  // of the whole vector, up to the next of its collective and size
    const algorithm* choice = nullptr;  // or by_cost(kind)

    friend bool operator==(const tuned&, const tuned&) = default;
};

/// Stands for what costs choose; called "auto". A chooser cannot use it, and takes what it would take without.
const algorithm* by_cost(collective kind) noexcept;

/// What `text` says of `transport`, "tcp" or "shm". A line each for a collective and a number of ranks, "shm all_reduce 4: 0 star, 65536 direct,
/// 1048576 auto"; '#' begins a comment, ';' ends a line, too. error::invalid_argument quotes the line that makes no sense, of whichever transport.
result<std::vector<tuned>> tuning_in(std::string_view text, std::string_view transport);

/// For the chooser of a group of so many ranks: nothing where they are on several hosts.
std::vector<chooser::range> wanted_in(std::span<const tuned> all, int size, const host_map& hosts);

/// The text of a file; error::invalid_argument says why there is none.
result<std::string> tuning_text(const std::string& path);

/// Text on one line that `tuning_in` reads.
std::string to_string(std::span<const tuned> all, std::string_view transport);

}  // namespace tutti
