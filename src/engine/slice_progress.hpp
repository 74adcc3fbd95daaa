// How far the slices of an operation have come in the rounds of its plan.
#pragma once

#include "engine/program.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace tutti {

/// Counts the transfers of each step and the slices that have ended in each round. A slice ends in a round when all of the round's transfers
/// are done with it, and its reductions and copies are applied; then it enters the next round.
///
///     may_begin, may_send --> under way --transferred--> done_[step] > s --all steps of the round--> ended_[round] > s --> next
///
/// With one slice, open_transfers_ counts the open transfers of the one round that is under way. Changed with the engine's guard held.
class slice_progress {
public:
    /// Takes a plan, which lives as long as this uses it; `rewind` follows.
    void begin(const program& plan, std::size_t slices);
    /// Forgets all progress.
    void rewind() noexcept;

    /// Returns whether a slice has ended in all rounds before this one.
    bool may_begin(int round, std::size_t slice) const noexcept {
        return round == 0 || ended_[static_cast<std::size_t>(round) - 1] > slice;
    }
    /// Returns whether a slice is less than `ahead` slices ahead of those that have ended in its round: the window.
    bool inside_window(int round, std::size_t slice, std::size_t ahead) const noexcept {
        const std::size_t past = ended_[static_cast<std::size_t>(round)];
        return slice < past || slice - past < ahead;
    }
    /// Returns the same where slices end in any order: early ones make room in the window, too.
    bool inside_window_among(int round, std::size_t slice, std::size_t ahead) const noexcept;

    /// Returns how many slices of a step's transfer are done.
    std::size_t transferred(int step) const noexcept { return done_[static_cast<std::size_t>(step)]; }
    /// Counts one more.
    void count(int step) noexcept {
        ++done_[static_cast<std::size_t>(step)];
        --open_transfers_;
    }
    /// Notes a slice that is done before slices in front of it. It counts later, by count_early.
    void note_early(int step) noexcept { ++early_[static_cast<std::size_t>(step)]; }
    void count_early(int step) noexcept {
        --early_[static_cast<std::size_t>(step)];
        count(step);
    }

    /// Returns whether there is one slice, and its round has open transfers: no slice can end.
    bool waits() const noexcept { return slices_ == 1 && open_transfers_ > 0; }
    /// Returns whether there is one slice, and one open transfer in its round.
    bool waits_for_one() const noexcept { return slices_ == 1 && open_transfers_ == 1; }
    /// Returns whether all slices have ended in the last round; there is a round.
    bool complete() const noexcept { return ended_.back() == slices_; }

    /// Lets each slice end whose transfers in a round are done: calls end(round, slice), which returns false to stop. Returns whether any
    /// slice moved.
    template <class End>
    bool advance(End end) {
        return slices_ == 1 ? advance_whole(end) : advance_all(end);
    }

private:
    /// Round by round, as many slices as the round before has ended. Each may open the next round's slices at once.
    template <class End>
    bool advance_all(End end) {
        bool any = false;
        for (int round = first_open_; round < rounds_; ++round) {
            auto& past = ended_[static_cast<std::size_t>(round)];
            const std::size_t limit = round == 0 ? slices_ : ended_[static_cast<std::size_t>(round) - 1];
            for (; past < limit && transfers_done(round, past); any = true) {
                if (!end(round, past)) return false;
                ++past;
            }
            if (past == slices_ && round == first_open_) ++first_open_;
            if (past == 0) break;  // then no slice has come to later rounds either
        }
        return any;
    }
    /// Does the same for one slice, which is in one round at a time.
    template <class End>
    bool advance_whole(End end) {
        bool any = false;
        for (; first_open_ < rounds_ && open_transfers_ == 0; any = true) {
            if (!end(first_open_, std::size_t{0})) return false;
            ended_[static_cast<std::size_t>(first_open_)] = 1;
            if (++first_open_ < rounds_) open_transfers_ = plan_->transfers(first_open_);
        }
        return any;
    }
    bool transfers_done(int round, std::size_t slice) const noexcept;

    const program* plan_ = nullptr;
    std::size_t slices_ = 1;
    int rounds_ = 0;
    int first_open_ = 0;                // rounds before it have ended for all slices
    int open_transfers_ = 0;            // with one slice: transfers of round first_open_ that are not done
    std::vector<std::size_t> counted_;  // memory of the next three
    std::span<std::size_t> done_;       // per step: slices transferred
    std::span<std::size_t> early_;      // per step: slices transferred before their turn
    std::span<std::size_t> ended_;      // per round: slices ended
};

}  // namespace tutti
