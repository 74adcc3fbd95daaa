// A plan made ready for the engine: one rank's schedule, sorted by peer into the order in which its transfers travel. It has everything
// that can be known about its steps without memory and counts.
#pragma once

#include "algorithm/catalogue.hpp"
#include "schedule/contribution.hpp"
#include "schedule/schedule.hpp"

#include <memory>
#include <vector>

namespace tutti {

/// Immutable after its constructor, so any thread may read it. The engine compiles one for each collective, algorithm and root, caches it,
/// and shares it between operations. It knows no count, no address and no slice.
class program {
public:
    /// The steps of one round with one peer; they are step_order()[first, first + count).
    struct group {
        int round = 0;
        int first = 0;
        int count = 0;
    };
    /// All transfers to, or from, one peer.
    struct channel {
        rank peer = -1;
        std::vector<group> groups;
    };

    /// A transfer that answers another, and its position among the transfers of its channel, from which its frame's index follows.
    struct answer {
        int step = -1;
        std::size_t all = 0;     // transfers of the channel
        std::size_t before = 0;  // of those in earlier groups
        std::size_t beside = 0;  // in its own group, itself included
        std::size_t inside = 0;  // of those before it

        /// Returns the index of its frame for a slice.
        std::size_t frame_index(std::size_t slice, std::size_t slices, std::size_t segment) const noexcept;
    };

    /// `largest` is the number of blocks in the longest transfer of any rank: all ranks must know it to cut slices alike.
    program(schedule plan, int largest);

    const schedule& plan() const noexcept { return plan_; }
    const std::vector<channel>& senders() const noexcept { return senders_; }
    const std::vector<channel>& receivers() const noexcept { return receivers_; }
    const std::vector<int>& step_order() const noexcept { return order_; }
    /// Returns the index in plan().steps() of a round's first step.
    int first_step(int round) const noexcept { return first_step_[static_cast<std::size_t>(round)]; }
    /// Returns the number of transfers in a round.
    int transfers(int round) const noexcept { return transfers_[static_cast<std::size_t>(round)]; }
    int largest_transfer() const noexcept { return largest_; }
    bool writes_output() const noexcept { return writes_output_; }
    const contribution& contributed() const noexcept { return contributed_; }
    /// Returns whether a recv_reduce may be combined while it arrives instead of at the end of its round: no other step of the round
    /// touches its blocks.
    bool reduces_at_once(int step) const noexcept { return at_once_[static_cast<std::size_t>(step)]; }
    /// Returns whether a recv_reduce is one of several from different peers into the same blocks, which no other step of the round touches.
    /// All may be combined in one pass when all are there.
    bool reduces_together(int step) const noexcept { return together_[static_cast<std::size_t>(step)]; }
    /// Returns whether the round has such steps.
    bool sums_together(int round) const noexcept { return sums_together_[static_cast<std::size_t>(round)]; }
    /// Returns whether a recv_reduce is the only reduction or copy of its round.
    bool applies_alone(int step) const noexcept { return applied_alone_[static_cast<std::size_t>(step)]; }
    /// Returns the receive from the same peer into the blocks of a send, if no other step touches these from the send's round to the
    /// receive's; else null.
    const answer* answer_to(int send) const noexcept {
        const answer& found = answers_[static_cast<std::size_t>(send)];
        return found.step < 0 ? nullptr : &found;
    }
    /// Returns the send that takes the sum of a recv_reduce back to its peer; else null. The sum must be combined at once or together, and
    /// nothing may be written there before the send.
    const answer* sum_of(int recv) const noexcept {
        const answer& found = sums_[static_cast<std::size_t>(recv)];
        return found.step < 0 ? nullptr : &found;
    }
    /// Returns whether no later step reads what a step writes to the output, but the sends of `sum_of`.
    bool rests(int step) const noexcept { return rests_[static_cast<std::size_t>(step)]; }
    /// Returns whether a receive answers a send.
    bool answers(int recv) const noexcept { return is_answer_[static_cast<std::size_t>(recv)]; }

private:
    answer among(const std::vector<channel>& channels, rank peer, int step) const noexcept;
    void find_answers();
    void find_rest();
    void sort(action first, action second, std::vector<channel>& into);

    schedule plan_;
    contribution contributed_;
    std::vector<channel> senders_;
    std::vector<channel> receivers_;
    std::vector<int> order_;
    std::vector<int> first_step_;
    std::vector<int> transfers_;       // by round
    std::vector<bool> applied_alone_;  // by step
    std::vector<bool> at_once_;        // by step
    std::vector<bool> together_;       // by step
    std::vector<bool> sums_together_;  // by round
    std::vector<answer> answers_;      // by step
    std::vector<answer> sums_;         // by step
    std::vector<bool> is_answer_;      // by step
    std::vector<bool> rests_;          // by step
    int largest_ = 1;
    bool writes_output_ = false;
};

/// Returns the number of blocks in the longest transfer of a plan.
int largest_transfer(const schedule& plan) noexcept;

/// Compiles the program of `algorithm` at `where`. The longest transfer does not depend on the root. To find it takes the plans of all
/// ranks, unless a program with another root has it already.
std::shared_ptr<const program> compile(const algorithm& algorithm, participant where, const program* other_root = nullptr);

}  // namespace tutti
