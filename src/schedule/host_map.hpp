// Which ranks of a group share a host: for plans that combine within a host first, and for costs, which differ within and between.
#pragma once

#include <tutti/types.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tutti {

/// Hosts are numbered in the order of their lowest ranks, so all ranks that know who shares one number them alike.
class host_map {
public:
    /// All on one host, however many they are.
    host_map() = default;
    /// By rank: equal numbers share a host.
    explicit host_map(std::span<const int> numbers);

    /// Hosts; one when nothing is known.
    int count() const noexcept { return begin_.empty() ? 1 : static_cast<int>(begin_.size()) - 1; }
    int host(rank which) const noexcept { return host_.empty() ? 0 : host_[static_cast<std::size_t>(which)]; }
    /// In their order. Of a map that was given numbers.
    std::span<const rank> ranks(int host) const noexcept {
        const auto at = static_cast<std::size_t>(host);
        return std::span(ranks_).subspan(begin_[at], begin_[at + 1] - begin_[at]);
    }
    /// A rank's number among those of its host, from 0. Of a map that was given numbers.
    int local(rank which) const noexcept { return local_[static_cast<std::size_t>(which)]; }

    /// Whether there is more than one host, and ranks that share one.
    bool layered() const noexcept { return count() > 1 && static_cast<std::size_t>(count()) < ranks_.size(); }
    /// Layered, with as many ranks on each host.
    bool even() const noexcept;

    friend bool operator==(const host_map&, const host_map&) = default;

private:
    std::vector<int> host_;           // by rank
    std::vector<int> local_;          // by rank
    std::vector<rank> ranks_;         // by host
    std::vector<std::size_t> begin_;  // of each host in ranks_, and the end
};

}  // namespace tutti
