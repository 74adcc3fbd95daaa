// The order of a rank's calls, which must be the same on all ranks. Each call has a place, by which frames name it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti {

/// Gives each call its place in the order, and knows which reserved places are still to be called. Places count from 1. Used with the
/// engine's guard held.
class call_order {
public:
    /// Reserves the next `count` places, at least one, and returns the first.
    std::uint64_t reserve(std::size_t count) {
        const std::uint64_t first = next_;
        open_.push_back({first, first + count});
        next_ += count;
        return first;
    }
    /// Returns the place of a call: the next of all if `reserved` is 0, else that one, which is the next of a reservation.
    std::uint64_t take(std::uint64_t reserved = 0) noexcept {
        ++made_;
        if (reserved == 0) return next_++;
        const auto from = std::find_if(open_.begin(), open_.end(), [reserved](const reservation& each) { return each.next == reserved; });
        if (++from->next == from->end) open_.erase(from);
        return reserved;
    }

    /// Returns how many places have been given out, reserved ones included.
    std::uint64_t given_out() const noexcept { return next_ - 1; }
    /// Returns how many calls have been made.
    std::uint64_t made() const noexcept { return made_; }
    /// Returns whether this place has been called.
    bool called(std::uint64_t place) const noexcept {
        const auto waits = [place](const reservation& each) { return each.next <= place && place < each.end; };
        return place != 0 && place < next_ && std::none_of(open_.begin(), open_.end(), waits);
    }
    /// Returns whether a reserved place before this one is still to be called. Calls travel over a lane in their order, so this one waits.
    bool holds(std::uint64_t place) const noexcept { return !open_.empty() && open_.front().next < place; }
    /// Returns the first reserved place that is still to be called; there is one.
    std::uint64_t first_open() const noexcept { return open_.front().next; }

private:
    /// The places [next, end) are still to be called.
    struct reservation {
        std::uint64_t next;
        std::uint64_t end;
    };

    std::uint64_t next_ = 1;
    std::uint64_t made_ = 0;
    std::vector<reservation> open_;  // in their order
};

}  // namespace tutti
