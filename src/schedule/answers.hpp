// Which transfers bring back what belongs into memory that was sent to the same peer before, and which are combined together: a plan says so by
// itself.
#pragma once

#include "schedule/host_map.hpp"
#include "schedule/schedule.hpp"

#include <vector>

namespace tutti {

/// Whether `other` uses memory of what `which` writes or sends.
inline bool touches(const step& other, const step& which) noexcept {
    return intersect(other.here, which.here) || (other.what == action::copy && intersect(other.from, which.here));
}

/// Which recvs of a plan answer its sends, found in one pass over its steps and their blocks.
class answers {
public:
    explicit answers(const schedule& plan);

    /// The recv from the same peer into the blocks of `sent`, a send of the plan, when no other step touches them from the send on; null when
    /// there is none.
    const step* to(const step& sent) const noexcept;
    /// Of how many steps of its round `one` is that use its first block, by that name, itself included.
    int together(const step& one) const noexcept { return together_[index(one)]; }

private:
    std::size_t index(const step& one) const noexcept { return static_cast<std::size_t>(&one - plan_.steps().data()); }

    const schedule& plan_;
    std::vector<int> answer_;    // by step; negative: none
    std::vector<int> together_;  // by step
};

/// The send that takes what becomes of `reduced`, a recv_reduce of that round, back to its peer, before anything else is written there; null when
/// there is none.
const step* returning(const schedule& plan, int round, const step& reduced) noexcept;

inline constexpr std::size_t most_merged = 15;  // parts from peers

/// Whether all that is reduced in that round into the blocks of `reduced`, a recv_reduce, comes from peers of rank `me`'s host, each of which is
/// sent something in that round, as who sums as this rank does, or gets what becomes of it, and `reduced` is not the first of these: where memory
/// is shared all of it is lent then, and combined in one pass.
bool merged(const schedule& plan, int round, const step& reduced, rank me, const host_map& hosts) noexcept;

}  // namespace tutti
