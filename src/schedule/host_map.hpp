// Which ranks of a group share a host. Plans with layers combine within a host first, and costs differ within a host and between hosts.
#pragma once

#include <tutti/types.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tutti {

/// The host of each rank. Hosts are numbered in the order of their lowest ranks, so all ranks that have the same list number them alike.
class host_map {
public:
    /// All ranks, of any number, on one host.
    host_map() = default;
    /// `numbers` has an arbitrary number for each rank; ranks with equal numbers share a host.
    explicit host_map(std::span<const int> numbers);

    /// Returns the number of hosts.
    int count() const noexcept { return begin_.empty() ? 1 : static_cast<int>(begin_.size()) - 1; }
    int host(rank which) const noexcept { return host_.empty() ? 0 : host_[static_cast<std::size_t>(which)]; }
    /// Returns the ranks of a host in ascending order. Only for a map that was given numbers.
    std::span<const rank> ranks(int host) const noexcept {
        const auto at = static_cast<std::size_t>(host);
        return std::span(ranks_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
    }
    /// Returns a rank's number among the ranks of its host, from 0. Only for a map that was given numbers.
    int local(rank which) const noexcept { return local_[static_cast<std::size_t>(which)]; }

    /// Returns whether there are several hosts, and some host has several ranks.
    bool layered() const noexcept { return count() > 1 && static_cast<std::size_t>(count()) < ranks_.size(); }
    /// Returns whether the map is layered and all hosts have equally many ranks.
    bool even() const noexcept;

    friend bool operator==(const host_map&, const host_map&) = default;

private:
    std::vector<int> host_;           // by rank
    std::vector<int> local_;          // by rank
    std::vector<rank> ranks_;         // by host
    std::vector<std::size_t> begin_;  // of each host in ranks_, and the end
};

}  // namespace tutti
