// Which recvs answer a send. That follows from the plan alone, so both ends of a transfer know it without a message. Shared memory uses it:
// the peer of an answered send writes its answer straight into the memory that was lent to it.
#pragma once

#include "schedule/schedule.hpp"

#include <vector>

namespace tutti {

/// Returns whether `other` reads or writes a block that `which` writes or sends.
inline bool touches(const step& other, const step& which) noexcept {
    return intersect(other.here, which.here) || (other.what == action::copy && intersect(other.from, which.here));
}

/// Finds which recvs of a plan answer its sends, in one pass over its steps and their blocks. The plan must outlive it.
class answers {
public:
    explicit answers(const schedule& plan);

    /// Returns the recv from the same peer into the blocks of `sent`, a send of the plan, if no step uses these blocks between the two, and no
    /// other step of either round does. Null when there is none.
    const step* to(const step& sent) const noexcept;

private:
    std::size_t index(const step& one) const noexcept { return static_cast<std::size_t>(&one - plan_.steps().data()); }

    const schedule& plan_;
    std::vector<int> answer_;  // by step; negative: none
};

/// Returns the send of a later round that takes the result of `reduced`, a recv_reduce of `round`, back to its peer, if nothing is written to its
/// blocks before. Null when there is none.
const step* returning(const schedule& plan, int round, const step& reduced) noexcept;

/// The most parts from peers that are summed in one pass; with its own part the rank then sums 16.
inline constexpr std::size_t most_merged = 15;

}  // namespace tutti
